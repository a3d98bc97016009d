// The vectors that Rust's tests read.
import { readFileSync } from 'node:fs';

export function vectors(name) {
  const file = new URL(`../../../crypto-core/tests/vectors/${name}.json`, import.meta.url);
  // What a number cannot hold becomes a text, which BigInt reads.
  return JSON.parse(readFileSync(file, 'utf8').replace(/: (\d{16,})/g, ': "$1"'));
}

export const model = (name) => vectors(`model/${name}`).content;

export const hex = (bytes) => Buffer.from(bytes).toString('hex');

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
