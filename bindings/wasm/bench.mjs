// `node bench.mjs`: how long a round of quicknet takes to verify, here and by @noble/curves, by turns in one
// run. Its package is no dependency of ours: `npm install --no-save @noble/curves` first.
import { createHash } from 'node:crypto';

import { bls12_381 } from '@noble/curves/bls12-381.js';

import { Chain } from 'prefinal';
import { vectors } from './test/vectors.mjs';

const RUNS = 40;
const TAG = 'BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_';

const { key, scheme, rounds } = vectors('drand').chains.find((one) => one.name === 'quicknet');
const [{ number, signature }] = rounds;
const bytes = (hex) => Uint8Array.from(Buffer.from(hex, 'hex'));

function noble() {
  const round = Buffer.alloc(8);
  round.writeBigUInt64BE(BigInt(number));
  const message = Uint8Array.from(createHash('sha256').update(round).digest());
  const { shortSignatures } = bls12_381;
  return shortSignatures.verify(bytes(signature), shortSignatures.hash(message, TAG), bytes(key));
}

const standing = new Chain({ scheme, publicKey: key });
const round = { round: number, signature };
const contestants = {
  'prefinal, key read once': () => standing.verify(round).length === 32,
  'prefinal, key read each time': () => {
    const chain = new Chain({ scheme, publicKey: key });
    const value = chain.verify(round);
    chain.free();
    return value.length === 32;
  },
  '@noble/curves': noble,
};

const times = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]));
for (let run = -10; run < RUNS; run += 1) {
  for (const [name, verify] of Object.entries(contestants)) {
    const started = performance.now();
    if (!verify()) throw new Error(`${name} does not verify`);
    if (run >= 0) times[name].push(performance.now() - started);
  }
}
const median = (list) => list.sort((one, other) => one - other)[list.length >> 1];
const medians = Object.entries(times).map(([name, list]) => [name, median(list), list[0]]);
const [, , [, reference, least]] = medians;
for (const [name, middle, first] of medians) {
  const ratio = `${(middle / reference).toFixed(2)} and ${(first / least).toFixed(2)} of noble's`;
  console.log(`${name.padEnd(30)} median ${middle.toFixed(1)} ms, least ${first.toFixed(1)} ms: ${ratio}`);
}
