// Values that Rust holds, and calls into it.

import { PrefinalError } from './errors.js';
import { invalid } from './input.js';

/** Calls Rust. What it does not throw on purpose is a fault of this package. */
export function guarded(call) {
  try {
    return call();
  } catch (error) {
    if (error instanceof PrefinalError) throw error;
    throw new PrefinalError('internal', 'a fault of prefinal itself', {}, { cause: error });
  }
}

let rawOf;

/** A value that Rust holds, until it is freed. */
export class Held {
  #raw;

  static {
    rawOf = (held) => {
      if (!(#raw in held)) throw invalid('called on another object');
      return held.#raw;
    };
  }

  constructor(ready, make) {
    ready();
    this.#raw = guarded(make);
  }

  free() {
    const raw = rawOf(this);
    this.#raw = undefined;
    if (raw !== undefined) guarded(() => raw.free());
  }
}

/** Works on what Rust holds. */
export function on(held, work) {
  const raw = rawOf(held);
  if (raw === undefined) throw new PrefinalError('freed', 'the object was freed');
  return guarded(() => work(raw));
}
