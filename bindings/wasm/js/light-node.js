// In Node WebAssembly is loaded with the module; `init` is there so that one program serves both. Its bytes
// come as text, so that a bundle has them wherever it is put.

import bytes from './light-bytes.js';
import { decoded } from './load.js';
import { initSync } from './light.js';
import * as wasm from './light.js';
import { light } from './light-api.js';

initSync({ module: decoded(bytes) });

export { PrefinalError } from './errors.js';
export const { Beacon, Draws, LightClient, LightKey } = light(wasm, () => {});

export default async function init() {}
