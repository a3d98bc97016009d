// The entry of readers of a weighted VUF, on the vectors of `chain/light`.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { test } from 'node:test';

import { Draws, LightVuf, PrefinalError } from 'prefinal/light-vuf';
import { changed, failing, hex } from './vectors.mjs';

const fails = failing(assert, PrefinalError);
const file = new URL('../../../chain/light/tests/vectors/light.json', import.meta.url);
const { vuf } = JSON.parse(readFileSync(file, 'utf8'));

const begin = () => new LightVuf(vuf.pin, vuf.epoch, vuf.members);

/** With the keys of its first epoch. */
function reader() {
  const made = begin();
  made.admit(vuf.keys);
  return made;
}

function shows(made, { proof, slot, randomness }) {
  const value = made.verify(proof);
  assert.deepEqual([value.slot, hex(value.randomness)], [BigInt(slot), randomness]);
  return value;
}

test('from a pin over a handover', () => {
  const made = reader();
  assert.deepEqual([made.epoch, made.pin], [0n, vuf.pin]);
  const { randomness } = shows(made, vuf);
  assert.ok(new Draws(randomness, 'acme/raffle', '07'.repeat(32)).at(0).below(6) < 6n);
  made.advance(vuf.handover);
  assert.deepEqual([made.epoch, made.pin], [1n, vuf.next.pin]);
  // The keys of the epoch before are gone.
  fails(() => made.verify(vuf.next.proof), 'invalid-argument');
  fails(() => made.admit(vuf.keys), 'other-key');
  made.admit(vuf.next.keys);
  shows(made, vuf.next);
  fails(() => made.verify(vuf.proof), 'other-session');
  fails(() => made.advance(vuf.handover), 'epoch-too-early');
  made.free();
  fails(() => made.epoch, 'freed');
});

test('from another pin nobody begins', () => {
  fails(() => new LightVuf(vuf.next.pin, vuf.epoch, vuf.members), 'other-key');
  fails(() => new LightVuf(changed(vuf.pin), vuf.epoch, vuf.members), 'other-key');
  fails(() => new LightVuf(vuf.pin, changed(vuf.epoch), vuf.members), 'other-key');
  fails(() => new LightVuf(vuf.pin, vuf.epoch, changed(vuf.members)), 'other-committee');
  fails(() => new LightVuf(vuf.pin.slice(2), vuf.epoch, vuf.members), 'wrong-length');
  fails(() => new LightVuf(7, vuf.epoch, vuf.members), 'invalid-argument');
});

for (const { call, what, data, code } of vuf.refused) {
  test(`refused: ${call}, ${what}`, () => {
    const made = reader();
    fails(() => made[call](data), code);
    // Nothing has changed.
    shows(made, vuf);
    made.advance(vuf.handover);
    assert.equal(made.pin, vuf.next.pin);
  });
}

test('keys of late parties come later', () => {
  const made = begin();
  made.admit(vuf.early_keys);
  fails(() => made.verify(vuf.proof), 'not-admitted');
  made.admit(vuf.keys);
  shows(made, vuf);
});

test('a refusal says what was needed, and who was wrong', () => {
  const refused = (wanted) => {
    const { call, data } = vuf.refused.find(({ what }) => what === wanted);
    try {
      reader()[call](data);
    } catch ({ party, need, got, culprits }) {
      return { party, need, got, culprits };
    }
    return undefined;
  };
  const none = { party: undefined, need: undefined, got: undefined, culprits: undefined };
  assert.deepEqual(refused('signed by half of the stake'), { ...none, need: 27n, got: 20n });
  assert.deepEqual(refused('keys of two parties, swapped'), { ...none, party: 2 });
  assert.deepEqual(refused('partials of two parties, swapped'), { ...none, culprits: [2, 3] });
  assert.deepEqual(refused('too few partials'), { ...none, need: 3n, got: 2n });
});

test('altered bytes are refused', () => {
  const made = reader();
  for (const [name, step] of [['proof', 34], ['handover', 34], ['keys', 390]]) {
    const call = { proof: 'verify', handover: 'advance', keys: 'admit' }[name];
    for (let at = 0; at < vuf[name].length; at += step) {
      assert.throws(() => made[call](changed(vuf[name], at)), PrefinalError, `${name}, digit ${at}`);
    }
    fails(() => made[call](vuf[name].slice(0, -2)), 'malformed');
    fails(() => made[call](vuf[name].slice(2)), 'wrong-version');
    fails(() => made[call](null), 'invalid-argument');
  }
  assert.equal(made.epoch, 0n);
  shows(made, vuf);
});

test('readers of a weighted VUF have at most 232 KB before compression', () => {
  const { size } = statSync(new URL('../dist/light-vuf_bg.wasm', import.meta.url));
  assert.ok(size <= 232_000, `${size} bytes; is wasm-opt installed?`);
});
