// The second entry: the rest of the vectors, and a key generation from the keys on.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { verifySignature as first } from 'prefinal';
import {
  Chain,
  Config,
  DecryptionKey,
  Electorate,
  Evaluations,
  PrefinalError,
  SigningKey,
  solveRounding,
  verifyRounding,
  verifySignature,
} from 'prefinal/full';
import { changed, failing, hex, implausible, model, withCrypto } from './vectors.mjs';

const fails = failing(assert, PrefinalError);
const little = (number, bytes) => {
  const out = Buffer.alloc(bytes);
  let rest = BigInt(number);
  for (let at = 0; at < bytes; at += 1) {
    out[at] = Number(rest & 255n);
    rest >>= 8n;
  }
  return out.toString('hex');
};

test('keys of the model', () => {
  for (const [variant, { keys }] of Object.entries(model('bls'))) {
    for (const { secret, key, possession } of keys) {
      const own = new SigningKey(secret);
      assert.equal(hex(own.toBytes()), secret);
      assert.equal(hex(own.publicKey({ variant })), key);
      assert.equal(hex(own.possession({ variant })), possession);
      own.free();
      fails(() => own.toBytes(), 'freed');
    }
  }
  fails(() => new SigningKey('00'.repeat(32)), 'zero-scalar');
  fails(() => new SigningKey('ff'.repeat(32)), 'not-canonical');
  fails(() => new SigningKey('00'), 'wrong-length');
});

const REASONS = {
  'below quorum': 'below-quorum',
  bitmap: 'signers-bitmap',
  'no signers': 'no-signers',
  mismatch: 'signature-mismatch',
};

test('certificates of the model', () => {
  for (const [variant, one] of Object.entries(model('certificate'))) {
    const electors = one.secrets.map((secret, at) => {
      const key = new SigningKey(secret);
      const [publicKey, possession] = [key.publicKey({ variant }), key.possession({ variant })];
      return { publicKey, possession, stake: BigInt(one.stakes[at]) };
    });
    const quorum = BigInt(one.quorum);
    const electorate = new Electorate({ electors });
    assert.equal(electorate.quorum, quorum);
    assert.equal(new Electorate({ electors, quorum }).id, electorate.id);
    const kind = variant === 'min-sig' ? '30' : '31';
    const wire = ({ bitmap, signature }) => `01${kind}${little(bitmap.length / 2, 4)}${bitmap}${signature}`;
    const { domain, message } = one;
    for (const certificate of one.cases) {
      const shown = { domain, message, certificate: wire(certificate) };
      assert.deepEqual(electorate.verify(shown), certificate.signers);
      fails(() => electorate.verify({ ...shown, domain: 'other' }), 'signature-mismatch');
      fails(() => electorate.verify({ ...shown, certificate: `${shown.certificate}00` }), 'trailing-bytes');
    }
    for (const certificate of one.refused) {
      const shown = { domain, message, certificate: wire(certificate) };
      fails(() => electorate.verify(shown), REASONS[certificate.reason] ?? certificate.reason);
    }
    const swapped = [{ ...electors[0], possession: electors[1].possession }, electors[1]];
    fails(() => new Electorate({ electors: swapped }), 'signature-mismatch');
    fails(() => new Electorate({ electors: [electors[0], electors[0]] }), 'duplicate-key');
    fails(() => new Electorate({ electors: [] }), 'too-many-parties');
    fails(() => new Electorate({ electors, quorum: 0n }), 'quorum-range');
  }
});

/** The bytes that a chain keeps of a key generation: see `pvss_dkg::protocol::EpochKey`. */
function epochKey({ weights, slow, fast }) {
  const big = (number) => number.toString(16).padStart(8, '0');
  const anyone = slow.keys[0];
  const header = `010101${'00'.repeat(64)}${big(weights.length)}${weights.map(big).join('')}`;
  const points = [anyone.pi, slow.public[0], ...slow.public, ...fast.public];
  const recipients = '00'.repeat(32 * weights.length);
  return `${header}${big(slow.t)}${big(fast.t)}${recipients}${points.join('')}`;
}

test('values of the weighted VUF open with their proofs', () => {
  const all = model('wvuf');
  for (const path of ['slow', 'fast']) {
    const { keys, inputs } = all[path];
    const published = Object.entries(keys).map(([party, { pi, nonce, response, rho }]) => ({
      party: Number(party),
      key: `0120${pi}${nonce}${response}${little(rho.length, 4)}${rho.join('')}`,
    }));
    const evaluations = new Evaluations({ epochKey: epochKey(all), path, keys: published });
    for (const { slot, value, partials, randomness } of inputs) {
      const from = Object.entries(partials);
      const list = from.map(([party, partial]) => little(party, 4) + partial).join('');
      const input = all.chain + little(all.epoch, 8) + little(slot, 8) + (value ? `01${value}` : '00');
      const proof = `0122${input}${little(from.length, 4)}${list}`;
      const opened = evaluations.open(proof);
      assert.equal(hex(opened.value), randomness);
      assert.deepEqual([opened.chain, opened.epoch, opened.slot], [all.chain, BigInt(all.epoch), BigInt(slot)]);
      const other = input.slice(0, 64) + little(all.epoch + 1, 8) + input.slice(80);
      fails(() => evaluations.open(proof.replace(input, other)), 'partial-mismatch');
    }
    const moved = published.map((one) => ({ ...one, party: one.party === 2 ? 4 : one.party === 4 ? 2 : one.party }));
    fails(() => new Evaluations({ epochKey: epochKey(all), path, keys: moved }), 'possession-mismatch');
    const other = epochKey(all).replace('010101', '010103');
    fails(() => new Evaluations({ epochKey: other, path, keys: published }), 'wrong-purpose');
  }
});

/** A committee of four, from nothing. */
function committee() {
  const stakes = [30n, 30n, 20n, 20n];
  const pairs = [
    { secrecy: '1/2', reconstruction: '2/3' },
    { secrecy: '2/3', reconstruction: '5/6' },
  ];
  const { weights, thresholds } = solveRounding({ stakes, pairs });
  verifyRounding({ stakes, weights, claims: pairs.map((pair, at) => ({ ...pair, threshold: thresholds[at] })) });
  const keys = stakes.map(() => ({ signing: new SigningKey(), decryption: new DecryptionKey() }));
  const members = keys.map(({ signing, decryption }, at) => ({
    stake: stakes[at],
    publicKey: signing.publicKey(),
    possession: signing.possession(),
    registration: decryption.register(signing),
  }));
  const [slow, fast] = thresholds;
  return { keys, fields: { chain: '07'.repeat(32), epoch: 1n, purpose: 'randomness', weights, slow, fast, members } };
}

test('a key generation, and what anybody checks of it', () => {
  const { keys, fields } = committee();
  const config = new Config(fields);
  const dealings = keys.slice(0, 3).map(({ signing }, at) => config.deal(at, signing));
  dealings.forEach((dealing, at) => assert.equal(config.verifyDealing(dealing), at));
  const sum = config.addUp(dealings);
  const checked = config.verifyAggregate(sum);
  assert.deepEqual(checked.dealers, [0, 1, 2]);
  const total = fields.weights.reduce((all, weight) => all + weight, 0);
  assert.deepEqual([checked.slow.length, checked.fast.length], [total, total]);
  assert.ok([checked.publicKey, ...checked.slow, ...checked.fast].every((key) => key.length === 96));
  assert.equal(config.verifyAggregate(config.addUp([...dealings].reverse())).digest, checked.digest);
  for (const at of [30, 100, 500, sum.length - 1]) {
    const bad = Uint8Array.from(sum);
    bad[at] ^= 1;
    assert.throws(() => config.verifyAggregate(bad), PrefinalError, `byte ${at}`);
  }
  const other = new Config({ ...fields, epoch: 2n });
  assert.notEqual(other.digest, config.digest);
  assert.throws(() => other.verifyAggregate(sum), PrefinalError);
  assert.throws(() => other.verifyDealing(dealings[0]), PrefinalError);
  const purpose = new Config({ ...fields, purpose: 'decryption' });
  assert.notEqual(purpose.digest, config.digest);
  assert.throws(() => purpose.verifyDealing(dealings[0]), PrefinalError);
  fails(() => new Config({ ...fields, purpose: undefined }), 'invalid-argument');
  fails(() => new Config({ ...fields, purpose: 'lottery' }), 'invalid-argument');
  fails(() => new Config({ ...fields, qualify: 0n }), 'qualification-range');
  const { signing, decryption } = keys[0];
  const stored = decryption.toBytes();
  const again = new DecryptionKey(stored);
  assert.deepEqual(again.toBytes(), stored);
  const point = (one) => one.register(signing).slice(0, 144);
  assert.deepEqual(point(again), point(decryption));
  fails(() => new DecryptionKey('00'.repeat(32)), 'zero-scalar');
  fails(() => new DecryptionKey('ff'.repeat(32)), 'not-canonical');
  fails(() => new DecryptionKey('00'), 'wrong-length');
  fails(() => config.addUp([dealings[0]]), 'below-qualification');
  fails(() => config.addUp([dealings[0], dealings[0]]), 'dealt-twice');
  fails(() => config.deal(1, keys[0].signing), 'other-signing-key');
  fails(() => config.deal(9, keys[0].signing), 'not-a-member');
  fails(() => config.deal(0, {}), 'invalid-argument');
  fails(() => new Config({ ...fields, slow: 0 }), 'threshold-range');
  const swapped = fields.members.map((one, at, all) => ({ ...one, registration: all[(at + 1) % 4].registration }));
  fails(() => new Config({ ...fields, members: swapped }), 'possession-mismatch');
});

test('what the second entry signs, the first verifies', () => {
  for (const variant of ['min-sig', 'min-pk']) {
    const key = new SigningKey();
    const signed = { domain: 'vote', message: 'aabb' };
    const signature = key.sign({ ...signed, variant });
    const shown = { ...signed, publicKey: key.publicKey({ variant }), signature };
    first(shown);
    verifySignature(shown);
    fails(() => verifySignature({ ...shown, message: changed('aabb') }), 'signature-mismatch');
    fails(() => key.sign({ ...signed, variant: 'other' }), 'invalid-argument');
  }
});

test('without randomness there are no keys and no dealings', () => {
  const { keys, fields } = committee();
  const config = new Config(fields);
  const own = Object.getOwnPropertyDescriptor(globalThis, 'crypto');
  Object.defineProperty(globalThis, 'crypto', { value: undefined, configurable: true });
  try {
    fails(() => new SigningKey(), 'no-randomness');
    fails(() => new DecryptionKey(), 'no-randomness');
    fails(() => keys[0].decryption.register(keys[0].signing), 'no-randomness');
    fails(() => config.deal(0, keys[0].signing), 'no-randomness');
  } finally {
    Object.defineProperty(globalThis, 'crypto', own);
  }
  assert.equal(config.verifyDealing(config.deal(0, keys[0].signing)), 0);
});

test('with implausible randomness there are no keys and no dealings', () => {
  const { keys, fields } = committee();
  const config = new Config(fields);
  for (const getRandomValues of Object.values(implausible)) {
    withCrypto({ getRandomValues }, () => {
      fails(() => new SigningKey(), 'implausible-randomness');
      fails(() => new DecryptionKey(), 'implausible-randomness');
      fails(() => keys[0].decryption.register(keys[0].signing), 'implausible-randomness');
      fails(() => config.deal(0, keys[0].signing), 'implausible-randomness');
      fails(() => Chain.quicknet().encrypt(7n, '00'.repeat(16)), 'implausible-randomness');
    });
  }
  assert.notEqual(hex(new SigningKey().toBytes()), hex(new SigningKey().toBytes()));
});

test('bad input to what only this entry has', () => {
  const { keys, fields } = committee();
  const config = new Config(fields);
  for (const value of [null, 7, 7n, NaN, 'text', true, Symbol('s')]) {
    const calls = [
      () => new Config(value),
      () => new Config({ ...fields, members: value }),
      () => new Config({ ...fields, weights: value }),
      () => new Evaluations(value),
      () => solveRounding(value),
      () => keys[0].signing.sign(value),
      () => keys[0].signing.publicKey(value),
      () => keys[0].decryption.register(value),
      () => config.deal(0, value),
      () => config.addUp(value),
    ];
    for (const call of calls) fails(call, 'invalid-argument');
  }
  for (const value of [-1, 2n ** 64n, 0.5, NaN, '1']) {
    fails(() => new Config({ ...fields, epoch: value }), 'invalid-argument');
    fails(() => config.deal(value, keys[0].signing), 'invalid-argument');
  }
  fails(() => new Config({ ...fields, chain: '00' }), 'wrong-length');
  fails(() => new Config({ ...fields, weights: [] }), 'no-shares');
  fails(() => new Config({ ...fields, weights: fields.weights.slice(1) }), 'wrong-count');
  fails(() => new Config({ ...fields, weights: [2 ** 32 - 1, 2 ** 32 - 1] }), 'too-many-shares');
  fails(() => new Config({ ...fields, qualify: 1000n }), 'qualification-range');
  fails(() => new Evaluations({ epochKey: '', keys: [] }), 'wrong-length');
  fails(() => new Evaluations({ epochKey: '', path: 'other', keys: [] }), 'invalid-argument');
  fails(() => config.verifyAggregate(''), 'wrong-length');
  fails(() => config.verifyDealing('00'), 'wrong-length');
  fails(() => config.addUp([]), 'below-qualification');
  const freed = new SigningKey();
  freed.free();
  fails(() => config.deal(0, freed), 'freed');
  fails(() => new DecryptionKey().register(freed), 'freed');
  assert.equal(config.verifyDealing(config.deal(0, keys[0].signing)), 0);
});
