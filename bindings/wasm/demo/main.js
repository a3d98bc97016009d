// Follows a devnet: `?from=` says where it is, without it is where this page comes from. Values wait in a queue and are
// verified between two frames, a few at a time; `beacon.js` and `vuf.js` say what is trusted, and check.

import { at, cell, ms, row, short } from './elements.js';

const KEPT = 120;
const AT_ONCE_MS = 24;
const PATHS = ['fast', 'slow'];

const from = (new URLSearchParams(location.search).get('from') ?? location.origin).replace(/\/$/, '');

const say = (text, isBad = false) => {
  at('state').textContent = text;
  at('state').className = isBad ? 'bad' : '';
};

/** What checks the values: its name is the chain's. */
let follower;
let followed;
let queue = [];
let slots = [];
let checked = 0;
let refused = 0;
let unchecked = 0;

const known = (path) => (PATHS.includes(path) ? path : '');

/** Follows this chain. With another one everything begins again. */
async function follow(info) {
  const name = info.pin ?? info.hash;
  if (followed === name && follower !== undefined) return;
  followed = name;
  follower?.free();
  follower = undefined;
  [queue, slots, checked, refused, unchecked] = [[], [], 0, 0, 0];
  at('rows').replaceChildren();
  const { begin } = await import(info.pin === undefined ? './beacon.js' : './vuf.js');
  const next = await begin(from, info);
  if (followed === name) follower = next;
  else next.free();
}

function note(event, result) {
  if (result.unchecked !== undefined) unchecked += 1;
  else checked += 1;
  if (result.wrong !== undefined) refused += 1;
  slots = slots.filter((one) => one.slot !== event.slot);
  slots.push({ ...event, ...result });
  slots.sort((one, other) => one.slot - other.slot);
  slots = slots.slice(-KEPT);
}

function verdict({ took, wrong, unchecked: why }) {
  if (why !== undefined) return cell(`not verified: ${why}`, 'soft');
  return wrong === undefined ? cell(`valid, ${ms(took)}`) : cell(`refused: ${wrong}`, 'bad');
}

const line = (one) =>
  row(cell(one.slot), verdict(one), cell(one.path, known(one.path)), cell(ms(one.wait_ms)), cell(short(one.value)), cell(short(one.block)));

function show() {
  const newest = slots.at(-1);
  if (newest === undefined) return;
  at('slot').textContent = newest.slot;
  at('path').textContent = newest.path;
  at('path').className = known(newest.path);
  at('wait').textContent = ms(newest.wait_ms);
  const isChecked = newest.unchecked === undefined;
  at('took').textContent = !isChecked ? 'not verified' : newest.wrong === undefined ? ms(newest.took) : 'refused';
  at('took').className = isChecked && newest.wrong === undefined ? '' : 'bad';
  at('value').textContent = newest.value;
  at('block').textContent = newest.block ?? 'none: the slot was skipped';
  at('rows').replaceChildren(...slots.toReversed().map(line));
  plot();
  at('summary').replaceChildren(...PATHS.map(summary));
  if (follower.lacks !== undefined) {
    say(`Nothing is verified: this page was given no ${follower.lacks}, see below`, true);
    return;
  }
  const bad = refused === 0 ? 'all valid' : `${refused} refused`;
  const rest = unchecked === 0 ? '' : `, ${unchecked} not verified`;
  say(`${checked} values verified here, ${bad}${rest}`, refused > 0);
}

/** Waits by one path, of the slots where somebody had the value by it: the mean of the parties, or the longest. */
const waitsBy = (path, of = 'mean_ms') => slots.map(({ waits }) => waits?.[path]?.[of]).filter(Number.isFinite);

const mean = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

/** The least of the sorted numbers that at least this share of them does not exceed. */
const percentile = (sorted, share) => sorted[Math.max(Math.ceil(share * sorted.length) - 1, 0)];

function summary(path) {
  const sorted = waitsBy(path).sort((one, other) => one - other);
  const percentiles = [0.5, 0.9, 0.99].map((share) => percentile(sorted, share));
  const numbers = [mean(sorted), ...percentiles, mean(waitsBy(path, 'longest_ms'))];
  const shown = numbers.map((number) => cell(sorted.length === 0 ? '–' : number.toFixed(1)));
  return row(cell(path, path), cell(sorted.length), ...shown);
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
  const [left, right, top, bottom] = [78, width - 8, 12, height - 28];
  const high = roundUp(Math.max(...PATHS.flatMap((path) => waitsBy(path)), 1));
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

/** Checks what has come, for a part of a frame. */
async function work() {
  const current = follower;
  const until = performance.now() + AT_ONCE_MS;
  do {
    const event = queue.shift();
    const result = await current.check(event);
    // It may be another chain by now.
    if (current !== follower) return;
    note(event, result);
  } while (queue.length > 0 && performance.now() < until);
  show();
}

async function frame() {
  if (follower !== undefined && queue.length > 0) await work();
  // Hidden pages have no frames, and need not check.
  requestAnimationFrame(frame);
}

/** What the devnet sends is JSON of a shape that is agreed on; anything else is said. */
function on(source, name, take) {
  source.addEventListener(name, async ({ data }) => {
    try {
      await take(JSON.parse(data));
    } catch (error) {
      say(error.message, true);
    }
  });
}

say(`Waiting for ${from} …`);
// Turned round or made wider, it is drawn again.
new ResizeObserver(() => slots.length > 0 && plot()).observe(at('plot'));
const source = new EventSource(`${from}/events`);
on(source, 'info', follow);
on(source, 'value', (event) => {
  if (!Number.isSafeInteger(event.slot) || typeof event.value !== 'string') throw new Error('a value without its slot');
  queue.push({ ...event, wait_ms: Number(event.wait_ms), path: String(event.path) });
  // Who looks away for an hour wants the newest.
  queue = queue.slice(-2 * KEPT);
});
source.addEventListener('error', () => say(`${from} does not answer; trying again`));
frame();
