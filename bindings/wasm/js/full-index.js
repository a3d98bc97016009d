// In a browser: `await init()` before anything else.

import load, * as wasm from './full.js';
import { PrefinalError } from './errors.js';
import { full } from './full-api.js';

let loaded;
let isReady = false;

function ready() {
  if (!isReady) throw new PrefinalError('not-initialised', 'await init() first');
}

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
} = full(wasm, ready);

/** Loads WebAssembly, from beside this file or from `source`; once. */
export default function init(source = new URL('full_bg.wasm', import.meta.url)) {
  loaded ??= load({ module_or_path: source }).then(
    () => {
      isReady = true;
    },
    (error) => {
      loaded = undefined;
      throw error;
    },
  );
  return loaded;
}
