// The vectors that Rust's tests read.
import { readFileSync } from 'node:fs';

export function vectors(name) {
  const file = new URL(`../../../crypto-core/tests/vectors/${name}.json`, import.meta.url);
  // What a number cannot hold becomes a text, which BigInt reads.
  return JSON.parse(readFileSync(file, 'utf8').replace(/: (\d{16,})/g, ': "$1"'));
}

export const model = (name) => vectors(`model/${name}`).content;

export const hex = (bytes) => Buffer.from(bytes).toString('hex');

/** What stands for `crypto.getRandomValues` and gives no randomness. */
export const implausible = {
  zeros: (bytes) => bytes.fill(0),
  'one byte': (bytes) => bytes.fill(7),
  'all ones': (bytes) => bytes.fill(255),
  nothing: (bytes) => bytes,
  'one block': (bytes) => bytes.set(bytes.map((_, at) => (at * 37 + 11) % 256)) ?? bytes,
  'short periods': (bytes) => bytes.set(bytes.map((_, at) => at % 4)) ?? bytes,
};

/** Runs `work` where `crypto` is another. */
export function withCrypto(value, work) {
  const own = Object.getOwnPropertyDescriptor(globalThis, 'crypto');
  Object.defineProperty(globalThis, 'crypto', { value, configurable: true });
  try {
    return work();
  } finally {
    Object.defineProperty(globalThis, 'crypto', own);
  }
}

/** With one digit changed. */
export const changed = (text, at = text.length - 1) =>
  text.slice(0, at) + (text[at] === '0' ? '1' : '0') + text.slice(at + 1);

/** What checks that `work` throws a PrefinalError with this code. */
export const failing = (assert, PrefinalError) => (work, expected) =>
  assert.throws(work, (error) => {
    assert.ok(error instanceof PrefinalError, `${error?.stack ?? error}`);
    assert.equal(error.code, expected, error.message);
    assert.ok(error instanceof Error && error.name === 'PrefinalError' && error.message.length > 0);
    return true;
  });
