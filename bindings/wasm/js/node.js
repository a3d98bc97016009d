// In Node WebAssembly is loaded with the module; `init` is there so that one program serves both. Its bytes
// come as text, so that a bundle has them wherever it is put.

import bytes from './verifier-bytes.js';
import { decoded } from './load.js';
import { initSync } from './verifier.js';
import * as wasm from './verifier.js';
import { verifier } from './verifier-api.js';

initSync({ module: decoded(bytes) });

export { PrefinalError } from './errors.js';
export { statement, thresholdStatement } from './statements.js';
export const { Chain, Draws, Electorate, verifyBeacon, verifySignature, verifyRounding } = verifier(wasm, () => {});

export default async function init() {}
