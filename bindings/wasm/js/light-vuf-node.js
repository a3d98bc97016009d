// In Node WebAssembly is loaded with the module; `init` is there so that one program serves both. Its bytes
// come as text, so that a bundle has them wherever it is put.

import bytes from './light-vuf-bytes.js';
import { decoded } from './load.js';
import { initSync } from './light-vuf.js';
import * as wasm from './light-vuf.js';
import { lightVuf } from './light-vuf-api.js';

initSync({ module: decoded(bytes) });

export { PrefinalError } from './errors.js';
export const { Draws, LightVuf } = lightVuf(wasm, () => {});

export default async function init() {}
