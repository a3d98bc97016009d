// Rounds of a beacon, verified under its public key. `?chain=` is the hash that its chain must have; without it the
// key is the one that the devnet says.

import init, { Chain, PrefinalError } from './prefinal/index.js';
import { at, hex, introduce, link } from './elements.js';

const expected = new URLSearchParams(location.search).get('chain')?.toLowerCase();

/** Trusts the chain that this describes. */
export async function begin(from, info) {
  await init();
  const chain = Chain.fromInfo(info);
  const { hash } = chain;
  if (expected !== undefined && hash !== expected) {
    chain.free();
    throw new Error(`this is chain ${hash}, not the one that was asked for`);
  }
  // A page without a committee is a page still.
  fetch(`${from}/committee`)
    .then((answer) => (answer.ok ? answer.json().then(introduce) : undefined))
    .catch(() => {});
  show(from, chain);
  return { name: hash, check: (event) => check(chain, event), free: () => chain.free() };
}

function show(from, { hash, publicKey }) {
  at('trust-key').hidden = false;
  at('chain').textContent = hash;
  at('key').textContent = publicKey;
  at('known').textContent = expected
    ? 'Its hash is the one that this page was given.'
    : 'The key comes from the devnet itself; to insist on a chain, add its hash to the address as ?chain=.';
  const places = [
    [`/${hash}/info`, 'the chain'],
    [`/${hash}/public/latest`, 'the newest round'],
    [`/v2/chains/${hash}/info`, 'the chain, version 2'],
    [`/v2/chains/${hash}/rounds/latest`, 'the newest round, version 2'],
    ['/committee', 'the committee'],
    ['/events', 'all values as they come'],
  ];
  link(from, places.map(([path, what]) => [path, what, path.replace(hash, `${hash.slice(0, 8)}…`)]));
}

/** How long a check took, and what is wrong with the value, if anything is. */
function check(chain, { round, signature, value }) {
  const started = performance.now();
  let wrong;
  try {
    if (hex(chain.verify({ round, signature })) !== value) wrong = 'another value';
  } catch (error) {
    wrong = error instanceof PrefinalError ? error.code : 'unreadable';
  }
  return { took: performance.now() - started, wrong };
}
