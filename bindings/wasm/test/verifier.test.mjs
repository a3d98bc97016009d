// The first entry against the vectors of Rust.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import init, { Chain, PrefinalError, verifyBeacon, verifyRounding, verifySignature } from 'prefinal';
import { changed, failing, hex, implausible, model, vectors, withCrypto } from './vectors.mjs';

const fails = failing(assert, PrefinalError);
const { chains } = vectors('drand');

const info = (chain) => ({
  public_key: chain.key,
  period: chain.period,
  genesis_time: chain.genesis_time,
  hash: chain.hash,
  groupHash: chain.genesis_seed,
  schemeID: chain.scheme,
  metadata: { beaconID: chain.beacon_id },
});

test('init may be awaited in Node, too', async () => {
  await init();
});

test('rounds of all four schemes verify, and no others', () => {
  assert.equal(new Set(chains.map((chain) => chain.scheme)).size, 4);
  for (const one of chains) {
    const chain = Chain.fromInfo(info(one), one.hash);
    assert.equal(chain.hash, one.hash);
    assert.equal(chain.scheme, one.scheme);
    assert.equal(chain.publicKey, one.key);
    for (const { number, signature, previous, randomness } of one.rounds) {
      const sent = { round: BigInt(number), signature, previousSignature: previous ?? undefined };
      assert.equal(hex(chain.verify(sent)), randomness);
      assert.equal(hex(chain.verify({ ...sent, round: number, randomness })), randomness);
      fails(() => chain.verify({ ...sent, randomness: changed(randomness) }), 'invalid-field');
      assert.throws(() => chain.verify({ ...sent, round: number + 1 }), PrefinalError);
      assert.throws(() => chain.verify({ ...sent, signature: changed(signature) }), PrefinalError);
      if (one.scheme === 'pedersen-bls-chained') {
        fails(() => chain.verify({ ...sent, previousSignature: '' }), 'no-previous-signature');
      } else {
        fails(() => chain.verify({ ...sent, previousSignature: signature }), 'not-chained');
      }
      // An error leaves the chain as it was.
      assert.equal(hex(chain.verify(sent)), randomness);
    }
    chain.free();
  }
});

test('rounds of the model verify', () => {
  for (const [scheme, { key, rounds }] of Object.entries(model('drand'))) {
    for (const { round, previous, signature, randomness } of rounds) {
      const first = BigInt(round) === 1n && previous ? { genesisSeed: previous } : {};
      const chain = new Chain({ scheme, publicKey: key, ...first });
      const value = chain.verify({ round: BigInt(round), signature, previous_signature: previous });
      assert.equal(hex(value), randomness, `${scheme} ${round}`);
    }
  }
});

test('a relay that lies about its chain is noticed', () => {
  const [one] = chains;
  const said = info(one);
  assert.equal(Chain.fromInfo(JSON.stringify(said), one.hash).hash, one.hash);
  assert.equal(Chain.quicknet().hash, chains.find((chain) => chain.name === 'quicknet').hash);
  const newer = {
    public_key: one.key,
    period: one.period,
    genesis_time: one.genesis_time,
    chain_hash: one.hash,
    genesis_seed: one.genesis_seed,
    scheme: one.scheme,
    beacon_id: one.beacon_id,
  };
  assert.equal(Chain.fromInfo(newer, one.hash).hash, one.hash);
  for (const field of ['period', 'genesis_time']) {
    fails(() => Chain.fromInfo({ ...said, [field]: said[field] + 1 }, one.hash), 'wrong-chain-hash');
  }
  fails(() => Chain.fromInfo({ ...said, groupHash: changed(one.genesis_seed) }, one.hash), 'wrong-chain-hash');
  fails(() => Chain.fromInfo({ ...said, metadata: { beaconID: 'another' } }, one.hash), 'wrong-chain-hash');
  fails(() => Chain.fromInfo({ ...said, hash: changed(one.hash) }, one.hash), 'wrong-chain-hash');
  fails(() => Chain.fromInfo({ ...said, schemeID: 'none' }, one.hash), 'unknown-scheme');
  fails(() => Chain.fromInfo({ ...said, period: 0 }, one.hash), 'invalid-field');
  fails(() => Chain.fromInfo('{', one.hash), 'not-json');
  // A relay with its own key describes its own chain, in itself without a flaw.
  for (const hash of [changed(one.hash), chains[1].hash]) fails(() => Chain.fromInfo(said, hash), 'wrong-chain-hash');
  fails(() => Chain.fromInfo(said), 'invalid-argument');
  const { number: round, signature, randomness } = one.rounds[0];
  assert.equal(hex(verifyBeacon(said, { round, signature }, one.hash)), randomness);
});

test('rounds are due when they are', () => {
  const [{ scheme, key }] = chains;
  const chain = new Chain({ scheme, publicKey: key, period: 3, genesisTime: 100n });
  assert.equal(chain.roundAt(99n), undefined);
  assert.equal(chain.roundAt(100n), 1n);
  assert.equal(chain.roundAt(105), 2n);
  assert.equal(chain.timeOf(2n), 103n);
  fails(() => chain.timeOf(0n), 'invalid-argument');
  fails(() => chain.timeOf(2n ** 64n - 1n), 'invalid-argument');
});

test('what others encrypted to a round opens, and what is encrypted here', () => {
  const cases = vectors('timelock').filter(({ message }) => [32, 64].includes(message.length));
  assert.ok(cases.length > 20, `${cases.length}`);
  for (const [at, one] of cases.entries()) {
    const { scheme, public_key: publicKey, signature, message, ciphertext } = one;
    const round = BigInt(one.round);
    const chain = new Chain({ scheme, publicKey });
    assert.equal(hex(chain.decrypt(ciphertext, signature)), message);
    fails(() => chain.decrypt(changed(ciphertext), signature), 'cannot-decrypt');
    if (at % 5 === 0) {
      const own = chain.encrypt(round, message);
      assert.equal(own.length, ciphertext.length / 2);
      assert.equal(hex(chain.decrypt(own, signature)), message);
      assert.notEqual(hex(chain.encrypt(round, message)), hex(own));
    }
  }
  const chain = Chain.quicknet();
  fails(() => chain.encrypt(7n, new Uint8Array(24)), 'wrong-length');
  fails(() => chain.encrypt(0n, new Uint8Array(16)), 'invalid-argument');
  const chained = chains.find((one) => one.scheme === 'pedersen-bls-chained');
  fails(() => Chain.fromInfo(info(chained), chained.hash).encrypt(7n, new Uint8Array(16)), 'chained-rounds');
});

test('without randomness nothing is encrypted', () => {
  const chain = Chain.quicknet();
  const own = Object.getOwnPropertyDescriptor(globalThis, 'crypto');
  const none = () => {
    throw new Error('none');
  };
  let calls = 0;
  const once = (bytes) => {
    calls += 1;
    return calls > 1 ? none() : bytes.fill(7);
  };
  try {
    for (const value of [undefined, {}, { getRandomValues: none }, { getRandomValues: once }]) {
      Object.defineProperty(globalThis, 'crypto', { value, configurable: true });
      fails(() => chain.encrypt(7n, new Uint8Array(16)), 'no-randomness');
    }
  } finally {
    Object.defineProperty(globalThis, 'crypto', own);
  }
  assert.equal(calls, 2);
  assert.equal(chain.encrypt(7n, new Uint8Array(16)).length, 128);
});

test('with implausible randomness nothing is encrypted', () => {
  const chain = Chain.quicknet();
  const message = new Uint8Array(16).fill(5);
  for (const [kind, getRandomValues] of Object.entries(implausible)) {
    withCrypto({ getRandomValues }, () => {
      for (const length of [16, 32]) {
        fails(() => chain.encrypt(7n, new Uint8Array(length)), 'implausible-randomness', kind);
      }
    });
  }
  // Two blocks by turns: the second call is given what the first was.
  let turn = 0;
  const getRandomValues = (bytes) => {
    turn += 1;
    bytes.set(bytes.map((_, at) => (at * 37 + (turn % 2)) % 256));
    return bytes;
  };
  withCrypto({ getRandomValues }, () => {
    chain.encrypt(7n, message);
    fails(() => chain.encrypt(7n, message), 'implausible-randomness');
  });
  assert.equal(chain.encrypt(7n, message).length, 128);
});

test('signatures of committees verify under their domain only', () => {
  let checked = 0;
  for (const placements of Object.values(model('threshold'))) {
    for (const { key, domain, round, cases } of Object.values(placements)) {
      for (const { kind, message, signature } of cases) {
        checked += 1;
        if (kind !== 'domain') {
          const scheme = key.length === 192 ? 'bls-unchained-g1-rfc9380' : 'pedersen-bls-unchained';
          new Chain({ scheme, publicKey: key }).verify({ round, signature });
          continue;
        }
        const signed = { publicKey: key, domain, message, signature };
        verifySignature(signed);
        fails(() => verifySignature({ ...signed, domain: `${domain}x` }), 'signature-mismatch');
        fails(() => verifySignature({ ...signed, message: `${message}00` }), 'signature-mismatch');
        fails(() => verifySignature({ ...signed, suite: 'basic' }), 'signature-mismatch');
        fails(() => verifySignature({ ...signed, suite: 'none' }), 'invalid-argument');
        fails(() => verifySignature({ ...signed, domain: '' }), 'invalid-argument');
        const tag = `BLS_SIG_${'x'.repeat(20)}`;
        fails(() => verifySignature({ ...signed, domain: tag }), 'name-is-a-tag');
        fails(() => verifySignature({ ...signed, suite: 'tag', tag }), 'signature-mismatch');
        fails(() => verifySignature({ ...signed, suite: 'tag', tag: 'PREFINAL-V1-x' }), 'reserved-tag');
        const group = key.length === 96 ? 'G2' : 'G1';
        const own = `PREFINAL-V1-BLS-SIGNATURE_BLS12381${group}_XMD:SHA-256_SSWU_RO_${domain}`;
        fails(() => verifySignature({ ...signed, domain: own }), 'name-is-a-tag');
        fails(() => verifySignature({ ...signed, domain: 'x'.repeat(199) }), 'invalid-argument');
      }
    }
  }
  assert.equal(checked, 8);
});

test('weights and thresholds are checked over all sets of parties', () => {
  const rounding = {
    stakes: [3n, 2n, 2n],
    weights: [1, 1, 1],
    claims: [{ secrecy: '1/2', reconstruction: '2/3', threshold: 2 }],
  };
  verifyRounding(rounding);
  const claim = (fields) => ({ ...rounding, claims: [{ ...rounding.claims[0], ...fields }] });
  assert.throws(
    () => verifyRounding(claim({ threshold: 3 })),
    (error) => {
      assert.equal(error.code, 'rounding-stalls');
      assert.equal(error.culprits.length, 2);
      assert.deepEqual([error.need, error.got], [3n, 2n]);
      return true;
    },
  );
  fails(() => verifyRounding(claim({ threshold: 1 })), 'rounding-leaks');
  fails(() => verifyRounding(claim({ threshold: 0 })), 'threshold-range');
  fails(() => verifyRounding(claim({ secrecy: '2/3' })), 'ratio-order');
  fails(() => verifyRounding(claim({ secrecy: '1/0' })), 'zero-denominator');
  fails(() => verifyRounding(claim({ secrecy: '0.5' })), 'not-a-fraction');
  fails(() => verifyRounding({ ...rounding, weights: [1, 1] }), 'wrong-count');
  fails(() => verifyRounding({ ...rounding, stakes: [0n, 0n, 0n] }), 'no-stake');
  fails(() => verifyRounding({ ...rounding, stakes: [2n ** 128n - 1n, 1n, 1n] }), 'stake-overflow');
});

test('the verifier has at most 160 KB before compression', () => {
  const { size } = statSync(new URL('../dist/verifier_bg.wasm', import.meta.url));
  assert.ok(size <= 160_000, `${size} bytes; is wasm-opt installed?`);
  assert.ok(size > 50_000);
});

test('the bytes name no folder of the machine that built them', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');
  for (const entry of ['verifier', 'full', 'light']) {
    const bytes = readFileSync(new URL(`../dist/${entry}_bg.wasm`, import.meta.url), 'latin1');
    assert.ok(bytes.includes('crypto-core/src/'), 'places in the source are named');
    assert.ok(!bytes.includes(root), `${entry} names ${root}`);
    assert.ok(!bytes.includes('registry/src'), `${entry} names the folder of cargo`);
  }
});

test('every code that JavaScript throws itself is in the table', () => {
  const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');
  const table = read('../../../docs/error-codes.md');
  const files = ['verifier-api.js', 'full-api.js', 'held.js', 'light-api.js', 'input.js', 'index.js'];
  const thrown = files.flatMap((file) => [
    ...read(`../js/${file}`).matchAll(/new PrefinalError\(\s*'([a-z-]+)'/g),
  ]);
  const codes = new Set(thrown.map((match) => match[1]));
  assert.ok(codes.size > 8, [...codes].join());
  for (const one of codes) assert.ok(table.includes(`\`${one}\``), one);
});
