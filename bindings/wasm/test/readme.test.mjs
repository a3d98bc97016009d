// What the README shows runs, with a relay that is not there.
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';

import { hex, vectors } from './vectors.mjs';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const examples = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map((match) => match[1]);
const chain = vectors('drand').chains.find((one) => one.name === 'quicknet');
const [round] = chain.rounds;

const file = new URL('../../../chain/light/tests/vectors/light.json', import.meta.url);
const light = JSON.parse(readFileSync(file, 'utf8'));

const ANSWERS = {
  trust: { chain: light.chain, key: light.group_key },
  balance: { proof: light.key_proof, account: light.accounts[0].account },
  info: {
    public_key: chain.key,
    period: chain.period,
    genesis_time: chain.genesis_time,
    chain_hash: chain.hash,
    genesis_seed: chain.genesis_seed,
    scheme: chain.scheme,
    beacon_id: chain.beacon_id,
  },
  'rounds/latest': { round: round.number, signature: round.signature },
  'vuf/epochs/0': { vuf_epoch: light.vuf.epoch, members: light.vuf.members, keys: light.vuf.keys },
  'vuf/epochs/1': { handover: light.vuf.handover, keys: light.vuf.next.keys },
  'vuf/values/latest': { epoch: 1, proof: light.vuf.next.proof },
};

/** What an example prints. */
async function run(code, at) {
  const file = new URL(`example-${at}.mjs`, import.meta.url);
  const { fetch, console } = globalThis;
  const printed = [];
  const { log } = console;
  globalThis.fetch = async (url) => {
    const path = url.split(`${chain.hash}/`)[1] ?? new URL(url).pathname.slice(1);
    return { json: async () => ANSWERS[path] };
  };
  console.log = (line) => printed.push(line);
  try {
    writeFileSync(file, code);
    await import(file);
  } finally {
    rmSync(file);
    Object.assign(console, { log });
    globalThis.fetch = fetch;
  }
  return printed;
}

test('the first example has at most ten lines, and verifies a round', async () => {
  assert.ok(examples[0].trim().split('\n').length <= 10);
  const [value] = await run(examples[0], 0);
  assert.equal(hex(value), round.randomness);
});

test('the second opens what it encrypts', async () => {
  const [opened] = await run(examples[1], 1);
  assert.equal(opened.length, 32);
});

test('the third draws', async () => {
  const [dice, winners] = await run(examples[2], 2);
  assert.ok(dice >= 1n && dice <= 6n);
  assert.equal(new Set(winners).size, 3);
});

test('the fourth shows what an account has', async () => {
  const { accounts, verified } = light;
  assert.deepEqual(await run(examples[3], 3), [`slot ${verified.slot}: ${accounts[0].balance}`]);
});

test('the fifth follows a weighted VUF from a pin', async () => {
  const { argv } = process;
  const { pin, next } = light.vuf;
  const book = readFileSync(new URL('../../../docs/book/src/schemes/vuf.md', import.meta.url), 'utf8');
  assert.ok(book.includes(examples[4]), 'the book shows the same program');
  process.argv = [...argv.slice(0, 2), pin];
  try {
    assert.deepEqual(await run(examples[4], 4), [`slot ${next.slot}: ${next.randomness}`]);
    process.argv[2] = next.pin;
    await assert.rejects(run(examples[4], 5), { code: 'other-key' });
  } finally {
    process.argv = argv;
  }
  assert.equal(examples.length, 5);
});
