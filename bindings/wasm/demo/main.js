// Follows a devnet: `?from=` says where it is, without it is where this page comes from; `?chain=` the hash
// that its chain must have. Values wait in a queue and are verified between two frames, a few at a time.

import init, { Chain, PrefinalError } from './prefinal/index.js';

const KEPT = 120;
const AT_ONCE_MS = 24;
const PATHS = ['fast', 'slow'];

const parameters = new URLSearchParams(location.search);
const from = (parameters.get('from') ?? location.origin).replace(/\/$/, '');
const expected = parameters.get('chain')?.toLowerCase();

const at = (id) => document.getElementById(id);
const say = (text) => {
  at('state').textContent = text;
};

let chain;
let queue = [];
let slots = [];
let checked = 0;
let refused = 0;

const ms = (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const known = (path) => (PATHS.includes(path) ? path : '');

/** The beacon that is followed. Another one begins anew. */
function follow(info) {
  const next = Chain.fromInfo(info);
  const { hash } = next;
  if (expected !== undefined && hash !== expected) {
    next.free();
    throw new Error(`this is chain ${hash}, not the one that was asked for`);
  }
  if (chain !== undefined && chain.hash !== hash) {
    [queue, slots, checked, refused] = [[], [], 0, 0];
    at('rows').replaceChildren();
  }
  chain?.free();
  chain = next;
  at('chain').textContent = hash;
  at('key').textContent = chain.publicKey;
  at('known').textContent = expected
    ? 'Its hash is the one that this page was given.'
    : 'The key comes from the devnet itself; to insist on a chain, add its hash to the address as ?chain=.';
}

/** What is wrong with a value, if anything is. */
function fault(event) {
  try {
    const value = hex(chain.verify({ round: event.round, signature: event.signature }));
    return value === event.value ? undefined : 'another value';
  } catch (error) {
    return error instanceof PrefinalError ? error.code : 'unreadable';
  }
}

function check(event) {
  const started = performance.now();
  const wrong = fault(event);
  const took = performance.now() - started;
  checked += 1;
  if (wrong !== undefined) refused += 1;
  slots = slots.filter((one) => one.slot !== event.slot);
  slots.push({ ...event, took, wrong });
  slots.sort((one, other) => one.slot - other.slot);
  slots = slots.slice(-KEPT);
}

function cell(text, kind = '') {
  const td = document.createElement('td');
  td.textContent = text;
  if (kind) td.className = kind;
  return td;
}

function row({ slot, value, path, wait_ms: wait, took, wrong }) {
  const tr = document.createElement('tr');
  const result = wrong === undefined ? cell(`valid, ${ms(took)}`) : cell(`refused: ${wrong}`, 'bad');
  tr.append(cell(slot), result, cell(path, known(path)), cell(ms(wait)), cell(`${value.slice(0, 16)}…`));
  return tr;
}

function show() {
  const newest = slots.at(-1);
  if (newest === undefined) return;
  at('slot').textContent = newest.slot;
  at('path').textContent = newest.path;
  at('path').className = known(newest.path);
  at('wait').textContent = ms(newest.wait_ms);
  at('took').textContent = newest.wrong === undefined ? ms(newest.took) : 'refused';
  at('took').className = newest.wrong === undefined ? '' : 'bad';
  at('value').textContent = newest.value;
  at('rows').replaceChildren(...slots.toReversed().map(row));
  plot();
  const bad = refused === 0 ? 'all valid' : `${refused} refused`;
  say(`${checked} values verified here, ${bad}`);
}

const SVG = 'http://www.w3.org/2000/svg';
function shape(name, attributes, text = '') {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

/** The least of 1, 2, 5, 10, … that is not below. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= value);
}

/** Waits of both paths over the slots that are kept. */
function plot() {
  const [left, right, top, bottom] = [48, 710, 10, 195];
  const waits = slots.flatMap(({ waits }) => PATHS.map((path) => waits?.[path]?.mean_ms).filter(Number.isFinite));
  const high = roundUp(Math.max(...waits, 1));
  const [first, last] = [slots[0].slot, slots.at(-1).slot];
  const x = (slot) => (last === first ? left : left + ((right - left) * (slot - first)) / (last - first));
  const y = (wait) => bottom - ((bottom - top) * wait) / high;
  const parts = [0, 0.5, 1].flatMap((share) => [
    shape('line', { class: 'grid', x1: left, x2: right, y1: y(share * high), y2: y(share * high) }),
    shape('text', { x: left - 6, y: y(share * high) + 4, 'text-anchor': 'end' }, `${share * high} ms`),
  ]);
  parts.push(
    shape('text', { x: left, y: 214 }, `slot ${first}`),
    shape('text', { x: right, y: 214, 'text-anchor': 'end' }, `slot ${last}`),
  );
  for (const path of PATHS) {
    // A line joins neighbours only: between others nobody had the value by this path.
    let pen = 'M';
    const lines = [];
    for (const { slot, waits } of slots) {
      const wait = waits?.[path]?.mean_ms;
      if (Number.isFinite(wait)) {
        lines.push(`${pen}${x(slot)} ${y(wait)}`);
        parts.push(shape('circle', { class: path, cx: x(slot), cy: y(wait), r: 2 }));
      }
      pen = Number.isFinite(wait) ? 'L' : 'M';
    }
    parts.push(shape('path', { class: path, d: lines.join('') }));
  }
  at('plot').replaceChildren(...parts);
}

function frame() {
  if (chain !== undefined && queue.length > 0) {
    const until = performance.now() + AT_ONCE_MS;
    do check(queue.shift());
    while (queue.length > 0 && performance.now() < until);
    show();
  }
  // Hidden pages have no frames, and need not check.
  requestAnimationFrame(frame);
}

/** What the devnet sends is JSON of a shape that is agreed on; anything else is said. */
function on(source, name, work) {
  source.addEventListener(name, ({ data }) => {
    try {
      work(JSON.parse(data));
    } catch (error) {
      say(`${name}: ${error.message}`);
      at('state').className = 'bad';
    }
  });
}

try {
  await init();
  say(`Waiting for ${from} …`);
  const source = new EventSource(`${from}/events`);
  on(source, 'info', follow);
  on(source, 'value', (event) => {
    if (![event.slot, event.round].every(Number.isSafeInteger) || typeof event.value !== 'string') throw new Error('no slot, no round or no value');
    queue.push({ ...event, wait_ms: Number(event.wait_ms), path: String(event.path) });
    // Who looks away for an hour wants the newest.
    queue = queue.slice(-2 * KEPT);
  });
  source.addEventListener('error', () => say(`${from} does not answer; trying again`));
  frame();
} catch (error) {
  say(`The verifier did not load: ${error.message}`);
  at('state').className = 'bad';
}
