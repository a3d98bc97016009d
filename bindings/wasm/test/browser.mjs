// A real browser, and what pages complain about in it.
import { execFileSync } from 'node:child_process';

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
