// The page before a devnet with a weighted VUF, in Chromium. What stands for the devnet sends the vectors of
// `chain/light`, some of them forged; a real one is followed in `devnet.test.mjs`.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';

import { launch, serve, visit } from './browser.mjs';
import { changed } from './vectors.mjs';

const file = new URL('../../../chain/light/tests/vectors/light.json', import.meta.url);
const { vuf } = JSON.parse(readFileSync(file, 'utf8'));
const forged = (call) => vuf.refused.filter((one) => one.call === call);

const first = { epoch: 0, first: 9, pin: vuf.pin };
const second = { epoch: 1, first: 109, pin: vuf.next.pin };
const honest = {
  '/vuf/epochs': [first, second],
  '/vuf/epochs/0': {
    ...first,
    stakes: ['10', '10', '10', '10'],
    weights: [2, 1, 1, 1],
    slow: 3,
    fast: 4,
    vuf_epoch: vuf.epoch,
    members: vuf.members,
    keys: vuf.keys,
    handover: null,
  },
  '/vuf/epochs/1': {
    ...second,
    stakes: ['10', '10', '10', '10', '10'],
    weights: [1, 2, 1, 1, 1],
    slow: 3,
    fast: 5,
    // Of this epoch the vectors have what a reader of the first one needs.
    keys: vuf.next.keys,
    handover: vuf.handover,
  },
};
const value = ({ slot, proof, randomness }, epoch) => ({
  slot,
  epoch,
  path: epoch === 0 ? 'fast' : 'slow',
  wait_ms: 3.5,
  longest_ms: 9,
  value: randomness,
  proof,
  block: '07'.repeat(32),
  waits: { fast: { parties: 4, mean_ms: 3.5, longest_ms: 9 } },
});
const [now, next] = [value(vuf, 0), value(vuf.next, 1)];

let events = [];
let answers = honest;
let browser;
let served;

before(async () => {
  browser = await launch();
  served = await serve((path) => answers[path], () => [['info', first], ...events.map((one) => ['value', one])]);
});

after(async () => {
  await browser?.close();
  served?.close();
});

/** The page's lines, when there are so many. */
async function rows(page, count, of = '#rows') {
  await page.waitForFunction(([id, all]) => document.querySelectorAll(`${id} tr`).length === all, [of, count]);
  return (await page.locator(`${of} tr`).allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '));
}

const open = (fragment = '') => visit(browser, `${served.origin}/${fragment}`);
const state = (page) => page.locator('#state').innerText();
const known = (page) => page.locator('#pin-known').innerText();

test('values are verified from the pin that was given, over a handover', async () => {
  [events, answers] = [[now, next], honest];
  const { page, complaints } = await open(`#pin=${vuf.pin.toUpperCase()}`);
  const shown = await rows(page, 2);
  assert.match(shown[0], new RegExp(`^110 valid, .* ms slow .*${next.value.slice(0, 16)}`));
  assert.match(shown[1], new RegExp(`^12 valid, .* ms fast .*${now.value.slice(0, 16)}`));
  assert.equal(await state(page), '2 values verified here, all valid');
  const epochs = await rows(page, 2, '#epochs');
  assert.match(epochs[0], new RegExp(`^0 9 its pin was given valid, .* ms ${vuf.pin.slice(0, 16)}…$`));
  assert.match(epochs[1], new RegExp(`^1 109 signed by epoch 0 valid, .* ms ${vuf.next.pin.slice(0, 16)}…$`));
  assert.match(await known(page), /the one that this page was given/);
  assert.equal(await page.locator('#pinned').innerText(), vuf.pin);
  assert.ok(await page.locator('#trust-key').isHidden());
  assert.equal(await page.locator('#parties').innerText(), '5');
  assert.equal(await page.locator('#slow-needs').innerText(), '3 of 6 shares');
  for (const [width, height] of [[390, 844], [1280, 900]]) {
    await page.setViewportSize({ width, height });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(over <= 0, `${over} pixels too wide at ${width}`);
    await page.screenshot({ path: new URL(`../dist/page-vuf-${width}.png`, import.meta.url).pathname, fullPage: true });
  }
  assert.deepEqual(complaints, []);
  await page.close();
});

test('without a pin nothing is verified, and the field takes one', async () => {
  [events, answers] = [[now], honest];
  const { page } = await open();
  assert.match((await rows(page, 1))[0], /^12 not verified: no pin was given /);
  assert.match(await state(page), /^Nothing is verified: this page was given no pin/);
  assert.equal(await page.locator('#state').getAttribute('class'), 'bad');
  assert.equal(await page.locator('#took').innerText(), 'not verified');
  assert.equal(await page.locator('#epochs tr').count(), 0);
  assert.match(await known(page), /verifies nothing/);
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}`);
    await page.screenshot({ path: new URL(`../dist/page-vuf-unpinned-${width}.png`, import.meta.url).pathname, fullPage: true });
  }
  await page.locator('#pin').fill(` ${vuf.pin} `);
  await page.locator('#pin-form button').click();
  await page.waitForFunction(() => document.getElementById('pin-known').textContent.includes('was given'));
  assert.match((await rows(page, 1, '#epochs'))[0], /^0 9 its pin was given /);
  assert.match((await rows(page, 1))[0], /^12 valid/);
  await page.close();
});

test('another pin than the devnet has is refused', async () => {
  [events, answers] = [[now], honest];
  const wrong = changed(vuf.pin);
  const other = await open(`#pin=${wrong}`);
  await other.page.waitForFunction(() => document.getElementById('state').className === 'bad');
  assert.match(await state(other.page), /^refused: no epoch of this devnet has this pin$/);
  assert.match(await known(other.page), /^Refused: /);
  assert.equal(await other.page.locator('#rows tr').count(), 0);
  await other.page.close();
  // A devnet that gives its own epoch this name.
  answers = { ...honest, '/vuf/epochs': [{ ...first, pin: wrong }] };
  const liar = await open(`#pin=${wrong}`);
  await liar.page.waitForFunction(() => document.getElementById('state').className === 'bad');
  assert.match(await state(liar.page), /^refused: this is not the epoch that is pinned$/);
  assert.equal(await liar.page.locator('#rows tr').count(), 0);
  await liar.page.close();
});

test('forged values are refused, each for its reason', async () => {
  answers = honest;
  const lies = forged('verify').map(({ data, code }, at) => [{ ...now, slot: 200 + at, proof: data }, code]);
  // True of its slot, and said of another; and another value than the proof shows.
  lies.push([{ ...now, slot: 300 }, 'another slot'], [{ ...now, slot: 12, value: changed(now.value) }, 'another value']);
  lies.push([{ ...now, slot: 301, proof: null }, 'invalid-argument'], [{ ...now, slot: 302, epoch: 'x' }, 'Cannot convert']);
  events = lies.map(([event]) => event);
  const { page } = await open(`#pin=${vuf.pin}`);
  const shown = await rows(page, lies.length);
  for (const [{ slot }, code] of lies) {
    const line = shown.find((one) => one.startsWith(`${slot} `));
    assert.ok(line.startsWith(`${slot} refused: ${code}`), `${line}: ${code}`);
  }
  await page.waitForFunction(() => document.getElementById('state').className === 'bad');
  assert.equal(await state(page), `${lies.length} values verified here, ${lies.length} refused`);
  await page.close();
});

for (const { what, data, code } of forged('advance')) {
  test(`a handover is refused: ${what}`, async () => {
    events = [now, next];
    answers = { ...honest, '/vuf/epochs/1': { ...honest['/vuf/epochs/1'], handover: data } };
    const { page } = await open(`#pin=${vuf.pin}`);
    const shown = await rows(page, 2);
    assert.ok(shown[0].startsWith(`110 refused: handover, ${code} `), shown[0]);
    assert.match(shown[1], /^12 valid/);
    assert.match((await rows(page, 2, '#epochs'))[1], /^1 – refused: .* – –$/);
    await page.close();
  });
}

for (const { what, data, code } of forged('admit')) {
  test(`keys are refused: ${what}`, async () => {
    events = [now];
    answers = { ...honest, '/vuf/epochs/0': { ...honest['/vuf/epochs/0'], keys: data } };
    const { page } = await open(`#pin=${vuf.pin}`);
    assert.ok((await rows(page, 1))[0].startsWith(`12 refused: keys, ${code} `));
    assert.match((await rows(page, 1, '#epochs'))[0], /^0 9 its pin was given refused: /);
    await page.close();
  });
}

test('keys that came too late for the first look are asked for again', async () => {
  events = [now];
  const keys = [vuf.early_keys, vuf.early_keys];
  const epoch = { ...honest['/vuf/epochs/0'] };
  // Asked for with the epoch, for its keys, and for those of late parties.
  Object.defineProperty(epoch, 'keys', { enumerable: true, get: () => keys.shift() ?? vuf.keys });
  answers = { ...honest, '/vuf/epochs/0': epoch };
  const { page } = await open(`#pin=${vuf.pin}`);
  assert.match((await rows(page, 1))[0], /^12 valid/);
  assert.deepEqual(keys, []);
  await page.close();
});

test('what cannot be checked is not called false', async () => {
  // Nothing is there of the next epoch, and the value before it comes after it.
  events = [next, now];
  answers = { ...honest, '/vuf/epochs/1': undefined };
  const { page } = await open(`#pin=${vuf.pin}`);
  const shown = await rows(page, 2);
  assert.match(shown[0], /^110 not verified: epochs\/1: /);
  assert.match(shown[1], /^12 valid/);
  assert.equal(await state(page), '1 values verified here, all valid, 1 not verified');
  await page.close();
  answers = honest;
  const late = await open(`#pin=${vuf.pin}`);
  assert.match((await rows(late.page, 2))[1], /^12 not verified: its epoch is over/);
  await late.page.close();
});
