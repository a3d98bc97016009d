// What certificates say of a slot, against the vectors of the model, and what they must not be taken for.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as verifier from 'prefinal';
import * as full from 'prefinal/full';
import { failing, hex, model } from './vectors.mjs';

const { secret, key, cases } = model('statements');
const { SigningKey } = full;

/** Each differs in one thing. */
const others = (one) => [
  { ...one, chain: '01'.repeat(32) },
  { ...one, epoch: BigInt(one.epoch) + 1n },
  { ...one, slot: BigInt(one.slot) + 1n },
  { ...one, value: '01'.repeat(32) },
  { ...one, root: '01'.repeat(32) },
  { ...one, root: one.root ? undefined : '00'.repeat(32) },
];

for (const [name, { PrefinalError, statement, thresholdStatement, verifySignature }] of Object.entries({ verifier, full })) {
  const fails = failing(assert, PrefinalError);

  test(`${name}: statements are what the model signs`, () => {
    assert.equal(cases.length, 2);
    for (const one of cases) {
      const fields = { ...one, epoch: BigInt(one.epoch), slot: BigInt(one.slot) };
      const said = statement(fields);
      assert.equal(hex(said.message), one.message);
      assert.equal(said.domain, one.domain);
      assert.equal(hex(new SigningKey(secret).sign(said)), one.signature);
      const signature = one['threshold signature'];
      verifySignature({ ...thresholdStatement(fields), publicKey: key, signature });
      const wrong = [said, ...others(fields).map(thresholdStatement)];
      for (const other of wrong) {
        fails(() => verifySignature({ ...other, publicKey: key, signature }), 'signature-mismatch');
      }
    }
  });

  test(`${name}: fields are checked`, () => {
    const right = { chain: '00'.repeat(32), epoch: 0, slot: 2n ** 64n - 1n, value: '00'.repeat(32) };
    assert.equal(hex(statement({ ...right, root: null }).message), `${'00'.repeat(40)}${'ff'.repeat(8)}${'00'.repeat(32)}`);
    for (const wrong of [{ chain: '' }, { value: '00' }, { root: '' }]) {
      fails(() => statement({ ...right, ...wrong }), 'wrong-length');
    }
    for (const wrong of [{ slot: 2n ** 64n }, { epoch: -1 }, { slot: 0.5 }, { chain: undefined }]) {
      fails(() => thresholdStatement({ ...right, ...wrong }), 'invalid-argument');
    }
    fails(() => statement(undefined), 'invalid-argument');
  });
}
