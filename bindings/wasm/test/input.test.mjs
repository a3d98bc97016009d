// Bad input of every kind gives the documented error, and nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Chain, Electorate, PrefinalError, verifyRounding, verifySignature } from 'prefinal';
import { initSync } from '../dist/verifier.js';
import { failing, hex, vectors } from './vectors.mjs';

const fails = failing(assert, PrefinalError);
const quicknet = vectors('drand').chains.find((chain) => chain.name === 'quicknet');
const [{ number, signature, randomness }] = quicknet.rounds;
const good = { round: BigInt(number), signature };
const key = { scheme: quicknet.scheme, publicKey: quicknet.key };

const thrower = () => {
  throw new RangeError('mine');
};

test('wrong kinds', () => {
  const chain = new Chain(key);
  for (const value of [undefined, null, 7, 7n, NaN, 'text', true, Symbol('s')]) {
    const calls = [
      () => new Chain(value),
      () => chain.verify(value),
      () => new Electorate(value),
      () => new Electorate({ electors: value }),
      () => verifyRounding(value),
      () => verifyRounding({ stakes: [1n], weights: value, claims: [] }),
      () => verifySignature(value),
    ];
    for (const call of calls) fails(call, 'invalid-argument');
    fails(() => Chain.fromInfo(value, '00'.repeat(32)), typeof value === 'string' ? 'not-json' : 'invalid-argument');
  }
  const buffer = new ArrayBuffer(48);
  const none = [undefined, null, 7, {}, [], [1], new Uint16Array(48), new DataView(buffer), buffer];
  for (const value of [...none, 'xy', 'abc', 'é0', '0x00']) {
    fails(() => chain.verify({ ...good, signature: value }), 'invalid-argument');
  }
  fails(() => chain.verify({ ...good, signature: '' }), 'wrong-length');
  fails(() => chain.verify({ ...good, signature: new Uint8Array(47) }), 'wrong-length');
  fails(() => chain.verify({ ...good, signature: new Uint8Array(48) }), 'not-canonical');
  fails(() => new Chain({ ...key, publicKey: 'c0'.padEnd(192, '0') }), 'identity');
  fails(() => new Chain({ ...key, genesisSeed: '00' }), 'wrong-length');
});

test('numbers that are none, negative or too large', () => {
  const chain = new Chain(key);
  const none = [NaN, Infinity, 1.5, '7', {}, [], null, undefined, Symbol('s'), new Date(7), Object(7n)];
  for (const value of [...none, -1, -1n, 2 ** 53, 2n ** 64n]) {
    fails(() => chain.verify({ ...good, round: value }), 'invalid-argument');
    fails(() => chain.timeOf(value), 'invalid-argument');
    const stake = value === 2n ** 64n ? 2n ** 128n : value;
    fails(() => verifyRounding({ stakes: [stake], weights: [1], claims: [] }), 'invalid-argument');
  }
  for (const value of [2 ** 32, -1, 0.5, NaN, 2n ** 32n]) {
    fails(() => verifyRounding({ stakes: [1n], weights: [value], claims: [] }), 'invalid-argument');
  }
  fails(() => chain.verify({ ...good, round: 0 }), 'invalid-argument');
  fails(() => chain.verify({ ...good, round: 2n ** 64n - 1n }), 'signature-mismatch');
});

/** A subclass that lies is asked nothing. */
class Lying extends Uint8Array {
  get length() {
    return 1e9;
  }

  get byteLength() {
    return thrower();
  }

  slice() {
    return thrower();
  }

  [Symbol.iterator]() {
    return thrower();
  }

  static get [Symbol.species]() {
    return thrower();
  }
}

test('bytes in every guise', () => {
  const chain = new Chain(key);
  const bytes = Buffer.from(signature, 'hex');
  const large = new Uint8Array(100).fill(255);
  large.set(bytes, 13);
  const shared = new Uint8Array(new SharedArrayBuffer(48));
  shared.set(bytes);
  const same = [signature, signature.toUpperCase(), bytes, new Uint8Array(bytes), shared, new Lying(bytes)];
  for (const value of [...same, large.subarray(13, 61), new Uint8Array(large.buffer, 13, 48)]) {
    assert.equal(hex(chain.verify({ ...good, signature: value })), randomness);
  }
  const moved = new Uint8Array(bytes);
  structuredClone(moved.buffer, { transfer: [moved.buffer] });
  fails(() => chain.verify({ ...good, signature: moved }), 'invalid-argument');
  const buffer = new ArrayBuffer(48, { maxByteLength: 48 });
  const outside = new Uint8Array(buffer, 16, 32);
  buffer.resize(20);
  fails(() => chain.verify({ ...good, signature: outside }), 'invalid-argument');
  const alike = { [Symbol.toStringTag]: 'Uint8Array', length: 48 };
  for (const value of [new Proxy(bytes, {}), Object.create(Uint8Array.prototype), alike]) {
    fails(() => chain.verify({ ...good, signature: value }), 'invalid-argument');
  }
  fails(() => chain.verify({ ...good, signature: new Uint8Array((1 << 26) + 1) }), 'too-long');
});

test('getters, proxies and iterators of a caller', () => {
  const chain = new Chain(key);
  const caused = (work) =>
    assert.throws(work, (error) => {
      assert.ok(error instanceof PrefinalError, `${error}`);
      assert.equal(error.code, 'invalid-argument');
      assert.ok(error.cause instanceof Error);
      return true;
    });
  caused(() => chain.verify({ get round() { return thrower(); } }));
  caused(() => chain.verify(new Proxy({}, { get: thrower })));
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  caused(() => new Electorate({ electors: proxy }));
  caused(() => verifyRounding({ stakes: new Proxy([1n], { get: thrower }), weights: [], claims: [] }));
  const long = (length) => new Proxy([], { get: (_, name) => (name === 'length' ? length : 1n) });
  for (const length of [-1, 1.5, NaN, '3', 2n, 2 ** 60, {}]) {
    fails(() => verifyRounding({ stakes: long(length), weights: [], claims: [] }), 'invalid-argument');
  }
  fails(() => verifyRounding({ stakes: long(2 ** 21), weights: [], claims: [] }), 'count-too-large');
  // Iterators are not asked; holes are no entries.
  const stakes = [3n, 2n, 2n];
  stakes[Symbol.iterator] = thrower;
  verifyRounding({ stakes, weights: [1, 1, 1], claims: [] });
  fails(() => verifyRounding({ stakes: Array(3), weights: [1, 1, 1], claims: [] }), 'invalid-argument');
  // Each property is read once: a second look would see another value.
  let looks = 0;
  const shifty = {
    get signature() {
      looks += 1;
      return looks === 1 ? signature : '';
    },
    round: good.round,
  };
  assert.equal(hex(chain.verify(shifty)), randomness);
  assert.equal(looks, 1);
  // Who frees the object while its argument is read meets the same error as later.
  const freed = new Chain(key);
  const freeing = { get round() { freed.free(); return 7n; }, signature };
  fails(() => freed.verify(freeing), 'freed');
});

test('after free, and on other objects', () => {
  const chain = new Chain(key);
  chain.free();
  chain.free();
  const calls = [
    () => chain.verify(good),
    () => chain.hash,
    () => chain.encrypt(7n, new Uint8Array(16)),
    () => chain.decrypt('00', '00'),
    () => chain.roundAt(7n),
    () => chain.timeOf(7n),
  ];
  for (const call of calls) fails(call, 'freed');
  const { verify, free } = Chain.prototype;
  for (const other of [{}, new Proxy(new Chain(key), {}), Chain.prototype]) {
    fails(() => verify.call(other, good), 'invalid-argument');
    fails(() => free.call(other), 'invalid-argument');
  }
  assert.equal(hex(new Chain(key).verify(good)), randomness);
});

test('100 000 cycles of making, failing and freeing leave no memory behind', () => {
  const { memory } = initSync({});
  const chain = new Chain(key);
  const fail = (work) => {
    try {
      work();
    } catch (error) {
      if (error instanceof PrefinalError) return;
      throw error;
    }
    assert.fail('no error');
  };
  const cycles = (times) => {
    for (let at = 0; at < times; at += 1) {
      fail(() => new Chain({ ...key, publicKey: '00' }));
      fail(() => new Chain({ ...key, period: 0 }));
      fail(() => chain.verify({ ...good, signature: new Uint8Array(48) }));
      fail(() => verifyRounding({ stakes: [1n, 1n], weights: [1], claims: [] }));
      // Decoding a key takes a millisecond.
      if (at % 100 === 0) new Chain(key).free();
    }
  };
  cycles(1000);
  const before = memory.buffer.byteLength;
  cycles(100_000);
  assert.equal(memory.buffer.byteLength, before);
  assert.equal(hex(chain.verify(good)), randomness);
});
