// What callers catch, and what Rust calls: to make an error, and for randomness.

/** An error of this package. `code` is stable and listed in docs/error-codes.md; the text is for people. */
export class PrefinalError extends Error {
  constructor(code, message, fields = {}, options = undefined) {
    super(message, options);
    this.code = code;
    Object.assign(this, fields);
  }

  get name() {
    return 'PrefinalError';
  }
}

const NAMES = ['party', 'index', 'need', 'got'];

// `numbers` is a view on memory that is read before Rust goes on: see `error.rs`.
export function failure(code, message, numbers) {
  const fields = {};
  if (numbers.length > 0) {
    const wide = (low, high) => (numbers[high] << 64n) | numbers[low];
    const values = [Number(numbers[1]), Number(numbers[2]), wide(3, 4), wide(5, 6)];
    NAMES.forEach((name, bit) => {
      if ((numbers[0] >> BigInt(bit)) & 1n) fields[name] = values[bit];
    });
    if (numbers.length > 7) fields.culprits = Array.from(numbers.subarray(7), Number);
  }
  return new PrefinalError(code, message, fields);
}

export function randomness(bytes) {
  try {
    globalThis.crypto.getRandomValues(bytes);
    return true;
  } catch {
    return false;
  }
}
