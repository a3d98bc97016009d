// `node bench-light.mjs FILE [--browser]`: how long a light client takes from the genesis to epoch 1000, by stake
// and by key, in Node or in Chromium. FILE is what the bench of `chain/light` writes:
// `PREFINAL_PROOFS=FILE cargo bench -p prefinal-light --bench light -- --quick`. The least of some runs.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';

const { values: options, positionals } = parseArgs({
  options: { browser: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const proofs = JSON.parse(readFileSync(positionals[0], 'utf8'));

/** Runs in a page too, so it uses nothing from here. */
function measure({ LightClient, LightKey }, { still, moving, key, account }) {
  function least(runs, work) {
    let shortest = Infinity;
    for (let run = 0; run < runs; run += 1) {
      const started = performance.now();
      work();
      shortest = Math.min(shortest, performance.now() - started);
    }
    return shortest;
  }
  const rows = Object.entries({ still, moving }).map(([name, { waypoint, members, proof }]) => {
    const start = least(3, () => new LightClient(waypoint, members).free());
    const followed = least(2, () => {
      const client = new LightClient(waypoint, members);
      client.verify(proof).account(account);
      if (client.epoch !== 1000n) throw new Error(`${name}: epoch ${client.epoch}`);
      client.free();
    });
    return `${name}: start ${start.toFixed(0)} ms, decode and verify ${(followed - start).toFixed(0)} ms`;
  });
  const trusted = new LightKey(key.chain, key.key);
  const verified = least(20, () => trusted.verify(key.proof).account(account));
  return [...rows, `key: decode and verify ${verified.toFixed(1)} ms`];
}

/** The package's own files and an empty page. */
async function serve() {
  const server = createServer((request, response) => {
    const name = /^\/dist\/[\w.-]+\.js$/.exec(request.url)?.[0];
    response.setHeader('content-type', name ? 'text/javascript' : 'text/html');
    response.end(name ? readFileSync(new URL(`.${name}`, import.meta.url)) : '<!doctype html>');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function inBrowser() {
  const { launch } = await import('./test/browser.mjs');
  const [server, browser] = await Promise.all([serve(), launch()]);
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    return await page.evaluate(
      async ([source, given]) => {
        const light = await import('/dist/light-inline.js');
        await light.default?.();
        return new Function(`return ${source}`)()(light, given);
      },
      [measure.toString(), proofs],
    );
  } finally {
    await browser.close();
    server.close();
  }
}

const rows = options.browser ? await inBrowser() : measure(await import('prefinal/light'), proofs);
for (const row of rows) console.log(row);
