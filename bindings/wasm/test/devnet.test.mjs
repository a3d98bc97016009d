// A committee that agrees and signs, its page as it serves it, and a browser that verifies every value.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { launch, visit } from './browser.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
/** What `cargo test` has built; `PREFINAL` says where, if it is elsewhere. */
const program = process.env.PREFINAL ?? `${root}/target/debug/prefinal`;
/** The first half by the slow path alone. */
const SLOTS = 12;
const PATIENCE = { timeout: 120_000 };

let browser;
const devnets = [];

before(async () => {
  browser = await launch();
});

after(async () => {
  for (const devnet of devnets) devnet.kill();
  await browser?.close();
});

/** Starts a devnet; the parts of the first line that matches each pattern, when it has said them all. */
function start(more, ...patterns) {
  // In a checkout it finds the page by itself.
  const fixed = ['devnet', '--http', '127.0.0.1:0', '--regions', 'none', '--parties', '4', '--seed', '7'];
  const devnet = spawn(program, [...fixed, ...more], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  devnets.push(devnet);
  const found = patterns.map(() => undefined);
  return new Promise((resolve, reject) => {
    devnet.once('error', reject);
    const lines = createInterface({ input: devnet.stdout });
    lines.on('line', (line) => {
      patterns.forEach((pattern, at) => (found[at] ??= pattern.exec(line)?.[1]));
      if (found.every((one) => one !== undefined)) resolve(found);
    });
    lines.once('close', () => reject(new Error(`the devnet ended, and said of ${patterns}: ${found}`)));
  });
}

const ADDRESS = /^(http:\/\/[\d.:]+)/;

test('the page follows a devnet, verifies its values and plots both paths', async () => {
  const [origin, chain] = await start(['--slots', `${SLOTS}`], ADDRESS, /^chain: ([0-9a-f]{64})$/);
  const { page, complaints } = await visit(browser, `${origin}/?chain=${chain}`);
  const enough = () =>
    ['fast', 'slow'].every((path) => document.querySelectorAll(`#plot circle.${path}`).length >= 3);
  await page.waitForFunction(enough, undefined, PATIENCE);
  const rows = await page.locator('#rows tr').allInnerTexts();
  const slots = rows.map((row) => Number.parseInt(row, 10));
  assert.ok(rows.length >= 6 && rows.length <= SLOTS, rows.join('\n'));
  assert.deepEqual(slots, slots.map((_, at) => slots[0] - at), 'newest first, none left out');
  assert.ok(rows.every((row) => /\svalid, .*ms\s/.test(row)), rows.join('\n'));
  // Slots of the first half have no other path; what follows has the fast one for some party at least.
  assert.match(rows.at(-1), /\sslow\s/);
  for (const path of ['fast', 'slow']) {
    assert.match(await page.locator(`#plot path.${path}`).getAttribute('d'), /^M[\d. ]+L[\d. ]+/);
  }
  // What the page shows is what drand's clients are told.
  const ask = async (path) => (await fetch(`${origin}${path}`)).json();
  // The first slot with a value is round 1.
  const { randomness } = await ask(`/public/${slots[1] - slots.at(-1) + 1}`);
  assert.ok(rows[1].includes(randomness.slice(0, 16)), rows[1]);
  assert.deepEqual(await ask('/chains'), [await page.locator('#chain').innerText()]);
  assert.equal(await page.locator('#parties').innerText(), '4');
  for (const needs of ['#slow-needs', '#fast-needs']) {
    assert.match(await page.locator(needs).innerText(), /^\d+ of \d+ shares$/);
  }
  assert.match(await page.locator('#block').innerText(), /^([0-9a-f]{64}|none: the slot was skipped)$/);
  for (const summary of await page.locator('#summary tr').allInnerTexts()) {
    assert.match(summary, /^(fast|slow)\s+\d+(\s+\d+\.\d){5}$/);
  }
  const links = await page.locator('#links a').evaluateAll((all) => all.map((one) => one.href));
  assert.ok(links.length >= 5);
  for (const href of links.filter((one) => !one.endsWith('/events'))) {
    assert.equal((await fetch(href)).status, 200, href);
  }
  assert.match(await page.locator('#state').innerText(), /^\d+ values verified here, all valid$/);
  await page.screenshot({ path: fileURLToPath(new URL('../dist/devnet.png', import.meta.url)), fullPage: true });
  assert.deepEqual(complaints, []);
});

test('the page follows a devnet with a weighted VUF from its pin over a handover', async () => {
  const changes = ['--scheme', 'wvuf', '--epochs', '2', '--join', '1', '--leave', '1', '--slots', '60'];
  const [origin, pin] = await start(changes, ADDRESS, /^pin of epoch 0: ([0-9a-f]{64})$/);
  const { page, complaints } = await visit(browser, `${origin}/#pin=${pin}`);
  const ask = async (path) => (await fetch(`${origin}${path}`)).json();
  // Of the second epoch too, of which it knows nothing before.
  await page.waitForFunction(
    () => {
      const begin = Number(document.querySelector('#epoch-1')?.cells[1].textContent);
      return [...document.querySelectorAll('#rows tr')].some((row) => Number(row.cells[0].textContent) >= begin + 2);
    },
    undefined,
    PATIENCE,
  );
  const rows = await page.locator('#rows tr').allInnerTexts();
  assert.ok(rows.every((row) => /\svalid, .*ms\s/.test(row)), rows.join('\n'));
  const slots = rows.map((row) => Number.parseInt(row, 10));
  assert.deepEqual(slots, slots.map((_, at) => slots[0] - at), 'newest first, none left out');
  const [first, second] = await page.locator('#epochs tr').allInnerTexts();
  assert.match(first, /its pin was given\s+valid/);
  assert.match(second, /signed by epoch 0\s+valid/);
  const epochs = await ask('/vuf/epochs');
  assert.ok(second.includes(epochs[1].pin.slice(0, 16)), second);
  const { randomness } = await ask(`/vuf/values/${slots[0]}`);
  assert.ok(rows[0].includes(randomness.slice(0, 16)), rows[0]);
  const links = await page.locator('#links a').evaluateAll((all) => all.map((one) => one.href));
  for (const href of links.filter((one) => !one.endsWith('/events'))) {
    assert.equal((await fetch(href)).status, 200, href);
  }
  assert.match(await page.locator('#state').innerText(), /^\d+ values verified here, all valid$/);
  await page.screenshot({ path: fileURLToPath(new URL('../dist/devnet-vuf.png', import.meta.url)), fullPage: true });
  assert.deepEqual(complaints, []);
});
