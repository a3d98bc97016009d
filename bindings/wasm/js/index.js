// In a browser: `await init()` before anything else.

import load, * as wasm from './verifier.js';
import { PrefinalError } from './errors.js';
import { verifier } from './verifier-api.js';

let loaded;
let isReady = false;

function ready() {
  if (!isReady) throw new PrefinalError('not-initialised', 'await init() first');
}

export { PrefinalError } from './errors.js';
export const { Chain, Electorate, verifyBeacon, verifySignature, verifyRounding } = verifier(wasm, ready);

/** Loads WebAssembly, from beside this file or from `source`; once. */
export default function init(source = new URL('verifier_bg.wasm', import.meta.url)) {
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
