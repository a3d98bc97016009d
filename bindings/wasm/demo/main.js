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

/** The beacon that is followed. With another one everything begins again. */
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
  link(hash);
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

/** The first digits of a hash. */
const short = (text) => (typeof text === 'string' ? `${text.slice(0, 16)}…` : 'none');

function row({ slot, value, path, wait_ms: wait, took, wrong, block }) {
  const tr = document.createElement('tr');
  const result = wrong === undefined ? cell(`valid, ${ms(took)}`) : cell(`refused: ${wrong}`, 'bad');
  tr.append(cell(slot), result, cell(path, known(path)), cell(ms(wait)), cell(short(value)), cell(short(block)));
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
  at('block').textContent = newest.block ?? 'none: the slot was skipped';
  at('rows').replaceChildren(...slots.toReversed().map(row));
  plot();
  at('summary').replaceChildren(...PATHS.map(summary));
  const bad = refused === 0 ? 'all valid' : `${refused} refused`;
  say(`${checked} values verified here, ${bad}`);
}

/** Waits by one path, of the slots where somebody had the value by it. */
const waitsBy = (path) => slots.map(({ waits }) => waits?.[path]?.mean_ms).filter(Number.isFinite);

/** The least of the sorted numbers that at least this share of them does not exceed. */
const percentile = (sorted, share) => sorted[Math.max(Math.ceil(share * sorted.length) - 1, 0)];

function summary(path) {
  const sorted = waitsBy(path).sort((one, other) => one - other);
  const mean = sorted.reduce((sum, one) => sum + one, 0) / sorted.length;
  const numbers = [mean, ...[0.5, 0.9, 0.99].map((share) => percentile(sorted, share))];
  const tr = document.createElement('tr');
  const shown = numbers.map((number) => cell(sorted.length === 0 ? '–' : number.toFixed(1)));
  tr.append(cell(path, path), cell(sorted.length), ...shown);
  return tr;
}

const percent = (part, all) => `${(Number((part * 10_000n) / all) / 100).toFixed(1)} %`;

/** Who shares the key, and how many shares make a value. */
function introduce({ stakes, weights, shares, slow, fast }) {
  const amounts = stakes.map(BigInt);
  const all = amounts.reduce((sum, one) => sum + one, 0n);
  at('parties').textContent = stakes.length;
  at('shares').textContent = shares;
  const needs = (threshold) => (Number.isSafeInteger(threshold) ? `${threshold} of ${shares} shares` : 'is not used');
  at('slow-needs').textContent = needs(slow);
  at('fast-needs').textContent = needs(fast);
  at('members').replaceChildren(
    ...amounts.map((stake, party) => {
      const tr = document.createElement('tr');
      tr.append(cell(party), cell(stake.toLocaleString('en')), cell(all === 0n ? '–' : percent(stake, all)), cell(weights[party]));
      return tr;
    }),
  );
}

/** Where the same is to be had without this page. */
function link(hash) {
  const places = [
    [`/${hash}/info`, 'the chain'],
    [`/${hash}/public/latest`, 'the newest round'],
    [`/v2/chains/${hash}/info`, 'the chain, version 2'],
    [`/v2/chains/${hash}/rounds/latest`, 'the newest round, version 2'],
    ['/committee', 'the committee'],
    ['/events', 'all values as they come'],
  ];
  at('links').replaceChildren(
    ...places.map(([path, what]) => {
      const [li, a] = ['li', 'a'].map((name) => document.createElement(name));
      a.href = `${from}${path}`;
      a.textContent = path.replace(hash, `${hash.slice(0, 8)}…`);
      li.append(a, ` ${what}`);
      return li;
    }),
  );
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

/** Waits of both paths over the slots that are kept. One unit is one pixel, so that text keeps its size. */
function plot() {
  const width = Math.max(at('plot').clientWidth, 240);
  const height = Math.round(Math.min(Math.max(width / 3, 200), 300));
  at('plot').setAttribute('viewBox', `0 0 ${width} ${height}`);
  at('plot').style.height = `${height}px`;
  const [left, right, top, bottom] = [58, width - 8, 12, height - 28];
  const high = roundUp(Math.max(...PATHS.flatMap(waitsBy), 1));
  const [first, last] = [slots[0].slot, slots.at(-1).slot];
  const x = (slot) => (last === first ? left : left + ((right - left) * (slot - first)) / (last - first));
  const y = (wait) => bottom - ((bottom - top) * wait) / high;
  const parts = [0, 0.5, 1].flatMap((share) => [
    shape('line', { class: 'grid', x1: left, x2: right, y1: y(share * high), y2: y(share * high) }),
    shape('text', { x: left - 6, y: y(share * high) + 5, 'text-anchor': 'end' }, `${share * high} ms`),
  ]);
  parts.push(
    shape('text', { x: left, y: height - 8 }, `slot ${first}`),
    shape('text', { x: right, y: height - 8, 'text-anchor': 'end' }, `slot ${last}`),
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
  // A page without a committee is a page still.
  fetch(`${from}/committee`)
    .then((answer) => (answer.ok ? answer.json().then(introduce) : undefined))
    .catch(() => {});
  // Turned round or made wider, it is drawn again.
  new ResizeObserver(() => slots.length > 0 && plot()).observe(at('plot'));
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
