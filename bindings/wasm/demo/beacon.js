// Rounds of a beacon, verified under its public key. `?chain=` in the address is the hash that its chain must have, which
// names the key; the field on the page writes it there. Without it nothing is verified, for a key that the devnet says
// proves nothing.

import init, { Chain, PrefinalError } from './prefinal/index.js';
import { at, hex, introduce, link, unpinned } from './elements.js';

const expected = new URLSearchParams(location.search).get('chain')?.trim().toLowerCase();

/** Trusts the chain that this describes, if it is the one whose hash was given. */
export async function begin(from, info) {
  at('trust-key').hidden = false;
  at('chain-hash').value = expected ?? '';
  const { hash } = info;
  if (expected && hash !== expected) throw refused(`this is chain ${hash}, not the one that was asked for`);
  // A page without a committee is a page still.
  fetch(`${from}/committee`)
    .then((answer) => (answer.ok ? answer.json().then(introduce) : undefined))
    .catch(() => {});
  show(from, info);
  if (!expected) return unpinned(hash, 'chain hash');
  await init();
  const chain = trust(info);
  return { name: hash, check: (event) => check(chain, event), free: () => chain.free() };
}

function refused(why) {
  at('known').className = 'bad';
  at('known').textContent = `Refused: ${why}.`;
  return new Error(why);
}

function trust(info) {
  try {
    const chain = Chain.fromInfo(info, expected);
    at('known').className = '';
    at('known').textContent = 'Its hash is the one that this page was given.';
    return chain;
  } catch (error) {
    throw refused(error.message);
  }
}

function show(from, { hash, public_key: publicKey }) {
  at('chain').textContent = hash;
  at('key').textContent = publicKey;
  at('known').className = 'bad';
  at('known').textContent = expected
    ? ''
    : 'This page was given no hash, so it verifies nothing: hash and key below are what the devnet says. Enter the hash that it printed where it was started, behind “chain:”.';
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

at('chain-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const query = new URLSearchParams(location.search);
  query.set('chain', at('chain-hash').value.trim());
  location.search = query;
});
