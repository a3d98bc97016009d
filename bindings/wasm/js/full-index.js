// In a browser: `await init()` before anything else.

import load, * as wasm from './full.js';
import { loader } from './load.js';
import { full } from './full-api.js';

/** Loads WebAssembly, from beside this file or from what it is given; once. */
const { init, ready } = loader(load, () => new URL('full_bg.wasm', import.meta.url));

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
} = full(wasm, ready);

export default init;
