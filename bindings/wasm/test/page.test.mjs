// In Chromium: the package by itself, and the page that follows a devnet. What stands for the devnet here
// sends rounds of a public chain, some of them forged; a real one is followed in `devnet.test.mjs`.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launch, serve, visit } from './browser.mjs';
import { changed, vectors } from './vectors.mjs';

const { chains } = vectors('drand');
const quicknet = chains.find((chain) => chain.name === 'quicknet');
const info = {
  public_key: quicknet.key,
  period: quicknet.period,
  genesis_time: quicknet.genesis_time,
  hash: quicknet.hash,
  groupHash: quicknet.genesis_seed,
  schemeID: quicknet.scheme,
  metadata: { beaconID: quicknet.beacon_id },
};

const path = (at) => (at % 2 === 0 ? 'slow' : 'fast');
const value = ({ number, signature, randomness }, at) => ({
  slot: number,
  round: number,
  path: path(at),
  wait_ms: 3.2 + at,
  longest_ms: 9,
  value: randomness,
  signature,
  block: at === 1 ? null : signature.slice(0, 64),
  waits: { fast: { parties: 3, mean_ms: 2 + at, longest_ms: 3 + at }, slow: { parties: 1, mean_ms: 6 + at, longest_ms: 7 + at } },
});
const honest = quicknet.rounds.map(value);
// As where nobody had the value by the slow path.
delete honest[2].waits.slow;
const forged = { ...honest[1], slot: 5000, round: 5000 };
const lying = { ...honest[2], slot: honest[2].slot, value: changed(honest[2].value) };

let events = [];
const committee = { stakes: ['30', '20', '50', '100'], weights: [3, 2, 5, 10], shares: 20, slow: 9, fast: 15 };
let browser;
let served;
let origin;

before(async () => {
  browser = await launch();
  served = await serve((path) => (path === '/committee' ? committee : undefined), () => events);
  ({ origin } = served);
});

after(async () => {
  await browser?.close();
  served?.close();
});

const open = (query = '') => visit(browser, `${origin}/${query}`);
const trusted = `?chain=${quicknet.hash}`;

test('the package in a browser', async () => {
  events = [];
  const { page, complaints } = await open();
  const seen = await page.evaluate(async (list) => {
    const { default: load, Chain, PrefinalError, verifyRounding } = await import('/prefinal/index.js?fresh');
    const code = (work) => {
      try {
        work();
      } catch (error) {
        return error instanceof PrefinalError ? error.code : String(error);
      }
      return 'none';
    };
    const before = code(() => Chain.quicknet());
    await Promise.all([load(), load()]);
    const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    const values = list.flatMap(({ scheme, key, genesis_seed: genesisSeed, rounds }) => {
      const chain = new Chain({ scheme, publicKey: key, genesisSeed });
      return rounds.map(({ number: round, signature, previous }) =>
        hex(chain.verify({ round, signature, previousSignature: previous })),
      );
    });
    const chain = Chain.quicknet();
    const message = crypto.getRandomValues(new Uint8Array(16));
    const ciphertext = chain.encrypt(1000n, message);
    const opened = chain.decrypt(ciphertext, list.find((one) => one.name === 'quicknet').rounds.find((one) => one.number === 1000).signature);
    verifyRounding({ stakes: [3n, 2n, 2n], weights: [1, 1, 1], claims: [{ secrecy: '1/2', reconstruction: '2/3', threshold: 2 }] });
    Object.defineProperty(globalThis, 'crypto', { value: undefined });
    const without = code(() => chain.encrypt(7n, message));
    // Of another realm, as of a frame or a worker.
    const frame = document.body.appendChild(document.createElement('iframe'));
    const foreign = new frame.contentWindow.Uint8Array(48);
    const realm = code(() => chain.verify({ round: 7n, signature: foreign }));
    chain.free();
    return { before, values, same: hex(opened) === hex(message), without, realm, freed: code(() => chain.hash) };
  }, chains);
  assert.deepEqual(seen, {
    before: 'not-initialised',
    values: chains.flatMap((chain) => chain.rounds.map((round) => round.randomness)),
    same: true,
    without: 'no-randomness',
    realm: 'not-canonical',
    freed: 'freed',
  });
  assert.deepEqual(complaints, []);
  await page.close();
});

test('the second entry in a browser', async () => {
  events = [];
  const { page } = await open();
  const length = await page.evaluate(async () => {
    const { default: load, SigningKey, verifySignature } = await import('/prefinal/full-index.js');
    await load();
    const key = new SigningKey();
    const signed = { domain: 'vote', message: '07' };
    const signature = key.sign(signed);
    verifySignature({ ...signed, publicKey: key.publicKey(), signature });
    return signature.length;
  });
  assert.equal(length, 48);
  await page.close();
});

test('the page verifies what a devnet sends, and shows it', async () => {
  events = [['info', info], ...honest.map((one) => ['value', one])];
  const { page, complaints } = await open(trusted);
  await page.waitForFunction((count) => document.querySelectorAll('#rows tr').length === count, honest.length);
  const rows = await page.locator('#rows tr').allInnerTexts();
  const newest = honest.at(-1);
  assert.match(rows[0], new RegExp(`^${newest.slot}\\s+valid, .*ms\\s+${newest.path}\\s.*${newest.value.slice(0, 16)}…\\s+${newest.block.slice(0, 16)}…$`));
  assert.match(rows.at(-2), /\snone$/);
  assert.ok(rows.every((row) => row.includes('valid')), rows.join('\n'));
  assert.equal(await page.locator('#state').innerText(), `${honest.length} values verified here, all valid`);
  assert.equal(await page.locator('#chain').innerText(), quicknet.hash);
  assert.equal(await page.locator('#value').innerText(), newest.value);
  assert.equal(await page.locator('#block').innerText(), newest.block);
  for (const kind of ['fast', 'slow']) {
    const line = await page.locator(`#plot path.${kind}`).getAttribute('d');
    assert.match(line, kind === 'fast' ? /^M[\d. ]+(L[\d. ]+){3}$/ : /^M[\d. ]+L[\d. ]+M[\d. ]+$/);
    assert.equal(await page.locator(`#plot circle.${kind}`).count(), kind === 'fast' ? 4 : 3);
  }
  await page.screenshot({ path: new URL('../dist/page.png', import.meta.url).pathname, fullPage: true });
  assert.deepEqual(complaints, []);
  await page.close();
});

const cells = async (page, selector) =>
  (await page.locator(`${selector} tr`).allInnerTexts()).map((row) => row.trim().split(/\s+/));

test('the page sums waits up by path, and says who shares the key', async () => {
  events = [['info', info], ...honest.map((one) => ['value', one])];
  const { page, complaints } = await open(trusted);
  await page.waitForFunction((count) => document.querySelectorAll('#rows tr').length === count, honest.length);
  await page.waitForFunction(() => document.querySelectorAll('#members tr').length > 0);
  // Fast waits are 2, 3, 4 and 5 ms, slow ones 6, 7 and 9; the longest of a slot is one more.
  assert.equal(honest.length, 4);
  assert.deepEqual(await cells(page, '#summary'), [
    ['fast', '4', '3.5', '3.0', '5.0', '5.0', '4.5'],
    ['slow', '3', '7.3', '7.0', '9.0', '9.0', '8.3'],
  ]);
  assert.equal(await page.locator('#slow-needs').innerText(), '9 of 20 shares');
  assert.equal(await page.locator('#fast-needs').innerText(), '15 of 20 shares');
  await page.locator('summary').click();
  assert.deepEqual((await cells(page, '#members'))[3], ['3', '100', '50.0', '%', '10']);
  assert.match(await page.locator('#why').innerText(), /enough stake.*[Oo]therwise/s);
  const links = await page.locator('#links a').evaluateAll((all) => all.map((one) => one.getAttribute('href')));
  assert.ok(links.includes(`${origin}/${quicknet.hash}/public/latest`), links.join());
  assert.deepEqual(complaints, []);
  await page.close();
});

test('on a phone nothing is too small to read or too wide to see', async () => {
  // As on a busy machine, so that the labels are long.
  const slow = { fast: { parties: 3, mean_ms: 9000, longest_ms: 9000 } };
  events = [['info', info], ...honest.map((one) => ['value', { ...one, waits: slow }])];
  for (const [width, height] of [[390, 844], [1280, 900]]) {
    const { page } = await open(trusted);
    await page.setViewportSize({ width, height });
    await page.waitForFunction((count) => document.querySelectorAll('#rows tr').length === count, honest.length);
    // The plot is drawn again after its size has changed.
    await page.waitForFunction(() => {
      const plot = document.getElementById('plot');
      return plot.viewBox.baseVal.width === Math.max(plot.clientWidth, 240);
    });
    const seen = await page.evaluate(() => {
      const plot = document.getElementById('plot');
      const box = plot.getBoundingClientRect();
      const labels = [...plot.querySelectorAll('text')];
      const scale = box.width / plot.viewBox.baseVal.width;
      const inside = ({ left, right, top, bottom }) =>
        left >= box.left - 1 && right <= box.right + 1 && top >= box.top - 1 && bottom <= box.bottom + 1;
      return {
        count: labels.length,
        smallest: Math.min(...labels.map((one) => scale * Number.parseFloat(getComputedStyle(one).fontSize))),
        inside: labels.every((one) => inside(one.getBoundingClientRect())),
        over: document.documentElement.scrollWidth - innerWidth,
      };
    });
    assert.ok(seen.count >= 5 && seen.smallest >= 13 && seen.inside && seen.over <= 0, `${width}: ${JSON.stringify(seen)}`);
    await page.screenshot({ path: new URL(`../dist/page-${width}.png`, import.meta.url).pathname, fullPage: true });
    await page.close();
  }
});

test('the page says what is forged', async () => {
  events = [['info', info], ['value', honest[0]], ['value', forged], ['value', lying]];
  const { page } = await open(trusted);
  await page.waitForFunction(() => document.querySelectorAll('#rows tr').length === 3);
  const rows = await page.locator('#rows tr').allInnerTexts();
  assert.match(rows[0], /^5000\s.*refused: signature-mismatch/);
  assert.match(rows[1], /refused: another value/);
  assert.match(rows[2], /valid/);
  assert.match(await page.locator('#state').innerText(), /2 refused/);
  assert.equal(await page.locator('#took').innerText(), 'refused');
  await page.close();
});

test('without the hash of a chain nothing is verified, and the field takes one', async () => {
  // A devnet that lies would be believed, if the key were the one that it says.
  events = [['info', info], ...honest.map((one) => ['value', one])];
  const { page, complaints } = await open(`?from=${origin}`);
  await page.waitForFunction((count) => document.querySelectorAll('#rows tr').length === count, honest.length);
  const rows = await page.locator('#rows tr').allInnerTexts();
  assert.ok(rows.every((row) => row.includes('not verified: no chain hash was given')), rows.join('\n'));
  assert.match(await page.locator('#state').innerText(), /^Nothing is verified: this page was given no chain hash/);
  assert.equal(await page.locator('#state').getAttribute('class'), 'bad');
  assert.equal(await page.locator('#took').innerText(), 'not verified');
  assert.match(await page.locator('#known').innerText(), /verifies nothing/);
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}`);
    await page.screenshot({ path: new URL(`../dist/page-unpinned-${width}.png`, import.meta.url).pathname, fullPage: true });
  }
  await page.locator('#chain-hash').fill(` ${quicknet.hash.toUpperCase()} `);
  await page.locator('#chain-form button').click();
  await page.waitForFunction(() => document.getElementById('known').textContent.includes('was given'));
  await page.waitForFunction((count) => document.querySelectorAll('#rows tr').length === count, honest.length);
  assert.ok((await page.locator('#rows tr').allInnerTexts()).every((row) => /\svalid, /.test(row)));
  assert.equal(new URL(page.url()).searchParams.get('from'), origin);
  assert.deepEqual(complaints, []);
  await page.close();
});

test('the page follows no other chain than the one that was asked for', async () => {
  events = [['info', info], ['value', honest[0]]];
  const other = await open(`?chain=${changed(quicknet.hash)}`);
  await other.page.waitForFunction(() => document.getElementById('state').className === 'bad');
  assert.match(await other.page.locator('#state').innerText(), /not the one that was asked for/);
  assert.equal(await other.page.locator('#rows tr').count(), 0);
  await other.page.close();
  const same = await open(`?chain=${quicknet.hash}&from=${origin}/`);
  await same.page.waitForFunction(() => document.querySelectorAll('#rows tr').length === 1);
  assert.match(await same.page.locator('#known').innerText(), /the one that this page was given/);
  await same.page.close();
  events = [['info', { ...info, hash: changed(quicknet.hash) }]];
  // One that gives its own chain the name.
  const liar = await open(`?chain=${changed(quicknet.hash)}`);
  await liar.page.waitForFunction(() => document.getElementById('state').className === 'bad');
  assert.match(await liar.page.locator('#state').innerText(), /but says/);
  await liar.page.close();
});
