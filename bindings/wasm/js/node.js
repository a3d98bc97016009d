// In Node WebAssembly is loaded with the module; `init` is there so that one program serves both.

import { readFileSync } from 'node:fs';

import { initSync } from './verifier.js';
import * as wasm from './verifier.js';
import { verifier } from './verifier-api.js';

initSync({ module: readFileSync(new URL('verifier_bg.wasm', import.meta.url)) });

export { PrefinalError } from './errors.js';
export const { Chain, Electorate, verifyBeacon, verifySignature, verifyRounding } = verifier(wasm, () => {});

export default async function init() {}
