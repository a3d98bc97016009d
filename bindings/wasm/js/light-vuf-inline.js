// With WebAssembly in it, for bundlers that find no file beside a module: `await init()` before anything else.

import bytes from './light-vuf-bytes.js';
import load, * as wasm from './light-vuf.js';
import { decoded, loader } from './load.js';
import { lightVuf } from './light-vuf-api.js';

/** Loads WebAssembly, from this file or from what it is given; once. */
const { init, ready } = loader(load, () => decoded(bytes));

export { PrefinalError } from './errors.js';
export const { Draws, LightVuf } = lightVuf(wasm, ready);

export default init;
