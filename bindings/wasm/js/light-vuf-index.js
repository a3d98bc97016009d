// In a browser: `await init()` before anything else.

import load, * as wasm from './light-vuf.js';
import { loader } from './load.js';
import { lightVuf } from './light-vuf-api.js';

/** Loads WebAssembly, from beside this file or from what it is given; once. */
const { init, ready } = loader(load, () => new URL('light-vuf_bg.wasm', import.meta.url));

export { PrefinalError } from './errors.js';
export const { Draws, LightVuf } = lightVuf(wasm, ready);

export default init;
