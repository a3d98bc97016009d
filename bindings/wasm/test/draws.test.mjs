// What transactions draw from the value of their slot, in all entries against the vectors of the model.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as verifier from 'prefinal';
import * as full from 'prefinal/full';
import * as light from 'prefinal/light';
import { failing, hex, model } from './vectors.mjs';

const VALUE = '00'.repeat(32);
const HASH = '07'.repeat(32);
const { cases, refused } = model('draws');

for (const [name, { Draws, PrefinalError }] of Object.entries({ verifier, full, light })) {
  const fails = failing(assert, PrefinalError);
  const draw = () => new Draws(VALUE, 'acme/raffle', HASH).at(0);

  test(`${name}: draws are what the model draws`, () => {
    assert.ok(cases.length > 10);
    for (const one of cases) {
      const drawn = new Draws(one.value, one.application, one.transaction).at(BigInt(one.index));
      assert.equal(hex(drawn.bytes), one.draw);
      for (const { bound, number } of one.numbers) assert.equal(drawn.below(BigInt(bound)), BigInt(number));
      for (const { among, order } of one.orders) {
        // Places are positions in an array, so there are fewer than 2^32.
        if (BigInt(among) >> 32n) continue;
        assert.deepEqual(drawn.order(BigInt(among), order.length), order.map(Number));
        if (Number(among) !== order.length) continue;
        assert.deepEqual(drawn.shuffled(Array.from(order.keys())), order.map(Number));
        assert.deepEqual(drawn.order(order.length), order.map(Number));
      }
    }
  });

  test(`${name}: what the model refuses is refused`, () => {
    assert.ok(refused.length > 5);
    for (const { application, transaction } of refused) {
      fails(() => new Draws(VALUE, application, transaction), 'invalid-argument');
    }
  });

  test(`${name}: arguments are read once, copied, and refused out of range`, () => {
    const bytes = new Uint8Array(32);
    const draws = new Draws(bytes, 'acme/raffle', HASH);
    bytes.fill(1);
    assert.deepEqual(draws.at(0).bytes, draw().bytes);
    const drawn = draw();
    drawn.bytes.fill(0);
    assert.deepEqual(drawn.bytes, draw().bytes);
    assert.equal(drawn.below(6), drawn.below(6n));
    fails(() => new Draws('00', 'a', HASH), 'wrong-length');
    fails(() => new Draws(VALUE, 7, HASH), 'invalid-argument');
    fails(() => new Draws(VALUE, 'a', undefined), 'invalid-argument');
    fails(() => new Draws(VALUE, '\ud800', HASH), 'invalid-argument');
    fails(() => draws.at(-1), 'invalid-argument');
    fails(() => draws.at(0.5), 'invalid-argument');
    fails(() => drawn.below(0), 'invalid-argument');
    fails(() => drawn.below(1n << 64n), 'invalid-argument');
    fails(() => drawn.order(3, 4), 'invalid-argument');
    fails(() => drawn.order(2 ** 31), 'invalid-argument');
    fails(() => drawn.order(2 ** 32, 1), 'invalid-argument');
    fails(() => drawn.shuffled('abc'), 'invalid-argument');
  });
}
