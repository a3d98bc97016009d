// In Node WebAssembly is loaded with the module; `init` is there so that one program serves both.

import { readFileSync } from 'node:fs';

import { initSync } from './full.js';
import * as wasm from './full.js';
import { full } from './full-api.js';

initSync({ module: readFileSync(new URL('full_bg.wasm', import.meta.url)) });

export { PrefinalError } from './errors.js';
export const {
  Chain,
  Config,
  DecryptionKey,
  Electorate,
  Evaluations,
  SigningKey,
  solveRounding,
  verifyBeacon,
  verifyRounding,
  verifySignature,
} = full(wasm, () => {});

export default async function init() {}
