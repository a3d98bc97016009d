// With WebAssembly in it, for bundlers that find no file beside a module: `await init()` before anything else.

import bytes from './full-bytes.js';
import load, * as wasm from './full.js';
import { decoded, loader } from './load.js';
import { full } from './full-api.js';

/** Loads WebAssembly, from this file or from what it is given; once. */
const { init, ready } = loader(load, () => decoded(bytes));

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
