// In a browser: `await init()` before anything else.

import load, * as wasm from './light.js';
import { loader } from './load.js';
import { light } from './light-api.js';

/** Loads WebAssembly, from beside this file or from what it is given; once. */
const { init, ready } = loader(load, () => new URL('light_bg.wasm', import.meta.url));

export { PrefinalError } from './errors.js';
export const { Beacon, Draws, LightClient, LightKey } = light(wasm, ready);

export default init;
