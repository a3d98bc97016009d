// `node bench.mjs [--quick] [--csv FILE]`: how long a round of quicknet takes to verify, here and by
// @noble/curves, by turns in one run. Its package is no dependency of ours: `npm install --no-save
// @noble/curves` first, or `sh benches/peers/noble/run.sh`, which does all. Noble reads the key each time.
import { createHash } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { bls12_381 } from '@noble/curves/bls12-381.js';

import { Chain } from 'prefinal';
import { vectors } from './test/vectors.mjs';

const { values: options } = parseArgs({
  options: { csv: { type: 'string' }, quick: { type: 'boolean', default: false } },
});
const RUNS = options.quick ? 10 : 40;
const NOBLE = '@noble/curves';
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
  [NOBLE]: noble,
};

/** Milliseconds of this process: while others use the processor they do not pass. */
function processorTime() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const times = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]));
for (let run = -10; run < RUNS; run += 1) {
  for (const [name, verify] of Object.entries(contestants)) {
    const started = processorTime();
    if (!verify()) throw new Error(`${name} does not verify`);
    if (run >= 0) times[name].push(processorTime() - started);
  }
}
const median = (list) => list.sort((one, other) => one - other)[list.length >> 1];
const medians = Object.entries(times).map(([name, list]) => [name, median(list), list[0]]);
const [, , [, reference, least]] = medians;
for (const [name, middle, first] of medians) {
  const ratio = `${(middle / reference).toFixed(2)} and ${(first / least).toFixed(2)} of noble's`;
  console.log(`${name.padEnd(30)} median ${middle.toFixed(1)} ms, least ${first.toFixed(1)} ms: ${ratio}`);
}

const versionOf = (folder) =>
  JSON.parse(readFileSync(new URL(`${folder}/package.json`, import.meta.url), 'utf8')).version;
const versions = { prefinal: versionOf('.'), [NOBLE]: versionOf(`node_modules/${NOBLE}`) };
/** In the columns that all benches of this repository have. */
function row(subject, implementation, quantity, value, unit) {
  const who = `${implementation},${versions[implementation]},1`;
  return `bindings,${subject},${who},${quantity},${value},${unit},sh benches/peers/noble/run.sh`;
}
/** The fastest run. */
function timed(measured, implementation, entry) {
  const subject = `drand::verify,"JavaScript, quicknet, ${entry}"`;
  return row(subject, implementation, 'time', times[measured][0].toPrecision(5), 'ms');
}
function sized(entry) {
  const { size } = statSync(new URL(`dist/${entry}_bg.wasm`, import.meta.url));
  return row(`npm::wasm,"entry ${entry}, not compressed"`, 'prefinal', 'bytes', size, 'bytes');
}
if (options.csv) {
  const header =
    'suite,operation,case,implementation,version,threads,quantity,value,unit,command';
  const [once, each] = ['key read once', 'key read each time'];
  const rows = [timed(`prefinal, ${once}`, 'prefinal', once), timed(`prefinal, ${each}`, 'prefinal', each)];
  rows.push(timed(NOBLE, NOBLE, each), sized('verifier'), sized('full'), sized('light'));
  writeFileSync(options.csv, `${[header, ...rows].join('\n')}\n`);
}
