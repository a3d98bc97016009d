// With WebAssembly in it, for bundlers that find no file beside a module: `await init()` before anything else.

import bytes from './light-bytes.js';
import load, * as wasm from './light.js';
import { decoded, loader } from './load.js';
import { light } from './light-api.js';

/** Loads WebAssembly, from this file or from what it is given; once. */
const { init, ready } = loader(load, () => decoded(bytes));

export { PrefinalError } from './errors.js';
export const { Beacon, Draws, LightClient, LightKey } = light(wasm, ready);

export default init;
