// How a browser gets a module's WebAssembly: once, and not before somebody asks for it.

import { PrefinalError } from './errors.js';

/** The bytes of a module that was written as text. */
export function decoded(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/** `init`, which loads from `source()` or from what it is given, and `ready`, which throws before that. */
export function loader(load, source) {
  let loaded;
  let isReady = false;

  function ready() {
    if (!isReady) throw new PrefinalError('not-initialised', 'await init() first');
  }

  function init(from = undefined) {
    loaded ??= load({ module_or_path: from ?? source() }).then(
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

  return { init, ready };
}
