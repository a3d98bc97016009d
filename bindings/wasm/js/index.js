// In a browser: `await init()` before anything else.

import load, * as wasm from './verifier.js';
import { loader } from './load.js';
import { verifier } from './verifier-api.js';

/** Loads WebAssembly, from beside this file or from what it is given; once. */
const { init, ready } = loader(load, () => new URL('verifier_bg.wasm', import.meta.url));

export { PrefinalError } from './errors.js';
export { statement, thresholdStatement } from './statements.js';
export const { Chain, Draws, Electorate, verifyBeacon, verifySignature, verifyRounding } = verifier(wasm, ready);

export default init;
