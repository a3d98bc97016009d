// In Node WebAssembly is loaded with the module; `init` is there so that one program serves both. Its bytes
// come as text, so that a bundle has them wherever it is put.

import bytes from './full-bytes.js';
import { decoded } from './load.js';
import { initSync } from './full.js';
import * as wasm from './full.js';
import { full } from './full-api.js';

initSync({ module: decoded(bytes) });

export { PrefinalError } from './errors.js';
export { statement, thresholdStatement } from './statements.js';
export const {
  Chain,
  Config,
  DecryptionKey,
  Draws,
  Electorate,
  Evaluations,
  SigningKey,
  solveRounding,
  verifyBeacon,
  verifyRounding,
  verifySignature,
} = full(wasm, () => {});

export default async function init() {}
