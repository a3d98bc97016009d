// With WebAssembly in it, for bundlers that find no file beside a module: `await init()` before anything else.

import bytes from './verifier-bytes.js';
import load, * as wasm from './verifier.js';
import { decoded, loader } from './load.js';
import { verifier } from './verifier-api.js';

/** Loads WebAssembly, from this file or from what it is given; once. */
const { init, ready } = loader(load, () => decoded(bytes));

export { PrefinalError } from './errors.js';
export { statement, thresholdStatement } from './statements.js';
export const { Chain, Draws, Electorate, verifyBeacon, verifySignature, verifyRounding } = verifier(wasm, ready);

export default init;
