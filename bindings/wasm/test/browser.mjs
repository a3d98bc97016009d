// A real browser, what pages complain about in it, and what stands for a devnet.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname } from 'node:path';

import { chromium } from 'playwright-core';

export async function launch() {
  const executablePath = process.env.CHROMIUM ?? execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim();
  // Root has no sandbox; what is loaded is ours.
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

/** A page, and what it complains about. */
export async function visit(browser, address) {
  const page = await browser.newPage({ viewport: { width: 1000, height: 1100 } });
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  await page.goto(address);
  return { page, complaints };
}

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };

/** The page's files, these events, and what `json` has for a path. */
export async function serve(json, events) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    if (pathname === '/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const [name, data] of events()) response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
      return;
    }
    const found = json(pathname);
    if (found !== undefined) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(found));
      return;
    }
    const name = pathname === '/' ? '/index.html' : pathname;
    try {
      const body = await readFile(new URL(`../demo${name}`, import.meta.url));
      response.writeHead(200, { 'content-type': TYPES[extname(name)] ?? 'text/plain' });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { origin: `http://127.0.0.1:${server.address().port}`, close };
}
