// The entry of light clients, on the vectors of `chain/light`.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { test } from 'node:test';

import { Beacon, LightClient, LightKey, PrefinalError } from 'prefinal/light';
import { changed, failing, hex } from './vectors.mjs';

const fails = failing(assert, PrefinalError);
const file = new URL('../../../chain/light/tests/vectors/light.json', import.meta.url);
const vectors = JSON.parse(readFileSync(file, 'utf8'));

function check(block) {
  const { verified, accounts } = vectors;
  assert.deepEqual([block.epoch, block.slot], [BigInt(verified.epoch), BigInt(verified.slot)]);
  assert.equal(block.value, verified.value);
  assert.equal(block.stateRoot, verified.state_root);
  assert.equal(block.receiptsRoot, verified.receipts_root);
  const rows = verified.claims.filter((claim) => 'key' in claim);
  assert.equal(block.rows.size, rows.length);
  for (const { key, value } of rows) {
    const row = block.rows.get(key);
    assert.equal(row === undefined ? null : hex(row), value);
  }
  const transactions = verified.claims.filter((claim) => 'transaction' in claim);
  const found = block.transactions.map((one) => ({ ...one, receipt: hex(one.receipt) }));
  const expected = transactions.map(({ transaction, receipt, position }) => ({ position, hash: transaction, receipt }));
  assert.deepEqual(found, expected);
  for (const { account, balance, nonce } of accounts) {
    assert.deepEqual(block.account(account), { balance: BigInt(balance), nonce: BigInt(nonce) });
  }
  fails(() => block.account('00'.repeat(32)), 'invalid-argument');
  block.free();
  fails(() => block.account(accounts[0].account), 'freed');
}

test('from the genesis, by stake', () => {
  const client = new LightClient(vectors.waypoint, vectors.members);
  assert.equal(client.epoch, 0n);
  assert.equal(hex(client.waypoint), vectors.waypoint);
  check(client.verify(vectors.stake_proof));
  assert.equal(client.epoch, 1n);
  const again = new LightClient(client.waypoint, client.members);
  // Endings of epochs before are not looked at.
  check(again.verify(vectors.stake_proof));
  assert.equal(again.epoch, 1n);
});

test('step by step', () => {
  const client = new LightClient(vectors.waypoint, vectors.members);
  fails(() => client.advance(changed(vectors.ending)), 'proof-mismatch');
  assert.equal(client.epoch, 0n);
  client.advance(vectors.ending);
  assert.equal(client.epoch, 1n);
  fails(() => client.advance(vectors.ending), 'other-session');
});

test('any epoch, by key', () => {
  const key = new LightKey(vectors.chain, vectors.group_key);
  check(key.verify(vectors.key_proof));
  const elsewhere = new LightKey('00'.repeat(32), vectors.group_key);
  fails(() => elsewhere.verify(vectors.key_proof), 'other-chain');
  // There is no row under a key beside one without a row either: that claim would be as true.
  const absent = vectors.key_proof.indexOf(vectors.verified.claims.find((claim) => claim.value === null).key);
  for (let at = 0; at < vectors.key_proof.length; at += 13) {
    if (at >= absent && at < absent + 64) continue;
    assert.throws(() => key.verify(changed(vectors.key_proof, at)), PrefinalError);
  }
  fails(() => key.verify(vectors.key_proof.slice(2)), 'wrong-version');
  fails(() => key.verify(vectors.stake_proof), 'wrong-kind');
  fails(() => key.verify(vectors.key_proof.slice(0, -2)), 'malformed');
  fails(() => key.verify(7), 'invalid-argument');
  fails(() => new LightKey(vectors.chain, vectors.group_key.slice(2)), 'wrong-length');
});

test('a value of any slot', () => {
  const { key, first, slot, signature, randomness } = vectors.beacon;
  const beacon = new Beacon(key, first);
  assert.equal(hex(beacon.verify(slot, signature)), randomness);
  fails(() => beacon.verify(slot + 1, signature), 'signature-mismatch');
  fails(() => beacon.verify(first - 1, signature), 'no-rounds');
  fails(() => new Beacon(key, 0), 'invalid-argument');
});

test('light clients have at most 138 KB before compression', () => {
  const { size } = statSync(new URL('../dist/light_bg.wasm', import.meta.url));
  assert.ok(size <= 138_000, `${size} bytes; is wasm-opt installed?`);
});
