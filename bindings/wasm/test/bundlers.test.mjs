// What bundlers make of the package, run where it is meant to run: every bundle verifies a round of drand's and
// refuses a false one, and draws from it. The package is packed and installed by npm, so that nothing else is found.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { build as esbuild } from 'esbuild';
import { build as vite } from 'vite';
import webpack from 'webpack';

import { Draws } from 'prefinal';
import { launch, visit } from './browser.mjs';
import { vectors } from './vectors.mjs';

const here = fileURLToPath(new URL('..', import.meta.url));
const quicknet = vectors('drand').chains.find((chain) => chain.name === 'quicknet');
const [{ number, signature, randomness }] = quicknet.rounds;
const TRANSACTION = '07'.repeat(32);
const drawn = new Draws(randomness, 'acme/raffle', TRANSACTION).at(1).order(250, 3);
const EXPECTED = `${randomness} signature-mismatch ${drawn}`;

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm' };
let project;
let browser;
let server;
let origin;

async function answer(request, response) {
  const { pathname } = new URL(request.url, 'http://localhost');
  try {
    const body = await readFile(join(project, 'out', pathname));
    response.writeHead(200, { 'content-type': TYPES[extname(pathname)] ?? 'application/octet-stream' });
    response.end(body);
  } catch {
    response.writeHead(404).end();
  }
}

before(async () => {
  project = mkdtempSync(join(tmpdir(), 'prefinal-bundles-'));
  execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', project], { cwd: here, stdio: 'pipe' });
  const [archive] = readdirSync(project);
  writeFileSync(join(project, 'package.json'), '{"name":"project","private":true,"type":"module"}');
  execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', archive], { cwd: project, stdio: 'pipe' });
  const files = readdirSync(join(project, 'node_modules/prefinal'));
  assert.deepEqual(files.sort(), ['LICENSE-APACHE', 'LICENSE-MIT', 'README.md', 'dist', 'package.json']);
  browser = await launch();
  server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  origin = `http://127.0.0.1:${server.address().port}`;
});

after(async () => {
  await browser?.close();
  server?.closeAllConnections();
  server?.close();
  if (project) rmSync(project, { recursive: true });
});

/** What verifies a round, and what refuses a false one. */
const ROUNDS = {
  name: 'Chain',
  good: `Chain.quicknet().verify({ round: ${number}, signature: '${signature}' })`,
  bad: `Chain.quicknet().verify({ round: ${number + 1}, signature: '${signature}' })`,
};

/** A program that imports the package by `from`, and its WebAssembly by `wasm` if that is not left to it. */
function program(name, from, wasm, { name: imported, good, bad } = ROUNDS) {
  const file = join(project, `${name}.js`);
  const lines = [
    `import init, { ${imported}, Draws } from '${from}';`,
    wasm === undefined ? '' : `import wasm from '${wasm}';`,
    'async function main() {',
    `  await init(${wasm === undefined ? '' : 'wasm'});`,
    `  const value = ${good};`,
    "  let refused = 'nothing refused';",
    '  try {',
    `    ${bad};`,
    '  } catch (error) {',
    '    refused = error.code;',
    '  }',
    `  const drawn = new Draws(value, 'acme/raffle', '${TRANSACTION}').at(1).order(250, 3);`,
    "  return `${Array.from(value, (byte) => byte.toString(16).padStart(2, '0')).join('')} ${refused} ${drawn}`;",
    '}',
    'main().then((seen) => {',
    "  if (typeof document === 'undefined') console.log(seen);",
    '  else document.title = seen;',
    '});',
  ];
  writeFileSync(file, lines.join('\n'));
  return file;
}

const out = (name) => join(project, 'out', name);

/** What the bundle prints, in a folder where nothing of the package is. */
function runs(folder, file) {
  rmSync(join(project, 'hidden'), { recursive: true, force: true });
  renameSync(join(project, 'node_modules'), join(project, 'hidden'));
  try {
    return execFileSync(process.execPath, [join(out(folder), file)], { encoding: 'utf8', cwd: tmpdir() }).trim();
  } finally {
    renameSync(join(project, 'hidden'), join(project, 'node_modules'));
  }
}

/** What the bundle shows in a browser. */
async function shows(folder, file) {
  if (file !== 'index.html') {
    writeFileSync(
      join(out(folder), 'index.html'),
      `<!doctype html><link rel="icon" href="data:,"><script type="module" src="${file}"></script>`,
    );
  }
  const { page, complaints } = await visit(browser, `${origin}/${folder}/index.html`);
  await page.waitForFunction(() => document.title !== '', undefined, { timeout: 60_000 });
  const title = await page.title();
  await page.close();
  assert.deepEqual(complaints, []);
  return title;
}

const bundle = (name, entry, more) =>
  esbuild({ entryPoints: [entry], bundle: true, outdir: out(name), logLevel: 'error', ...more });

test('esbuild for browsers: with WebAssembly in the module', async () => {
  for (const from of ['prefinal/inline', 'prefinal/full/inline']) {
    const name = `esbuild-${from.replaceAll('/', '-')}`;
    await bundle(name, program(name, from), { format: 'esm' });
    assert.equal(await shows(name, `${name}.js`), EXPECTED);
  }
});

test('esbuild for browsers: with WebAssembly as a file, and as bytes', async () => {
  for (const loader of ['file', 'binary']) {
    for (const from of ['prefinal', 'prefinal/full']) {
      const name = `esbuild-${from.replaceAll('/', '-')}-${loader}`;
      await bundle(name, program(name, from, `${from}/wasm`), { format: 'esm', loader: { '.wasm': loader } });
      assert.equal(await shows(name, `${name}.js`), EXPECTED);
    }
  }
});

test('esbuild for Node, as either kind of module', async () => {
  for (const from of ['prefinal', 'prefinal/full', 'prefinal/inline']) {
    for (const [format, ending] of [['esm', '.mjs'], ['cjs', '.cjs']]) {
      const name = `esbuild-node-${from.replaceAll('/', '-')}-${format}`;
      const more = { format, platform: 'node', outExtension: { '.js': ending } };
      await bundle(name, program(name, from), more);
      assert.equal(runs(name, `${name}${ending}`), EXPECTED);
    }
  }
});

test('vite finds WebAssembly by itself, by its path, and in the module', async () => {
  const cases = [['prefinal'], ['prefinal', 'prefinal/wasm?url'], ['prefinal/inline']];
  for (const [at, [from, wasm]] of cases.entries()) {
    const name = `vite-${at}`;
    const entry = program(name, from, wasm);
    const input = join(project, 'index.html');
    writeFileSync(input, `<!doctype html><link rel="icon" href="data:,"><script type="module" src="${entry.split('/').at(-1)}"></script>`);
    await vite({
      root: project,
      base: './',
      configFile: false,
      logLevel: 'error',
      build: { outDir: out(name), emptyOutDir: true, rollupOptions: { input } },
    });
    assert.equal(await shows(name, 'index.html'), EXPECTED, `${from} ${wasm}`);
  }
});

test('the entries of readers, in a browser and in Node', async () => {
  const file = new URL('../../../chain/light/tests/vectors/light.json', import.meta.url);
  const { beacon, vuf } = JSON.parse(await readFile(file, 'utf8'));
  const draw = (value) => new Draws(value, 'acme/raffle', TRANSACTION).at(1).order(250, 3);
  const begin = (proof) =>
    `((made) => { made.admit('${vuf.keys}'); return made.verify('${proof}').randomness; })` +
    `(new LightVuf('${vuf.pin}', '${vuf.epoch}', '${vuf.members}'))`;
  const asked = (slot) => `new Beacon('${beacon.key}', ${beacon.first}).verify(${slot}, '${beacon.signature}')`;
  const readers = [
    ['light', { name: 'Beacon', good: asked(beacon.slot), bad: asked(beacon.slot + 1) }, beacon.randomness, 'signature-mismatch'],
    ['light-vuf', { name: 'LightVuf', good: begin(vuf.proof), bad: begin(vuf.next.proof) }, vuf.randomness, 'other-session'],
  ];
  for (const [entry, example, value, code] of readers) {
    const expected = `${value} ${code} ${draw(value)}`;
    const inline = `esbuild-${entry}`;
    await bundle(inline, program(inline, `prefinal/${entry}/inline`, undefined, example), { format: 'esm' });
    assert.equal(await shows(inline, `${inline}.js`), expected);
    const asFile = `esbuild-${entry}-file`;
    const entryFile = program(asFile, `prefinal/${entry}`, `prefinal/${entry}/wasm`, example);
    await bundle(asFile, entryFile, { format: 'esm', loader: { '.wasm': 'file' } });
    assert.equal(await shows(asFile, `${asFile}.js`), expected);
    const node = `esbuild-node-${entry}`;
    const more = { format: 'esm', platform: 'node', outExtension: { '.js': '.mjs' } };
    await bundle(node, program(node, `prefinal/${entry}`, undefined, example), more);
    assert.equal(runs(node, `${node}.mjs`), expected);
  }
});

async function pack(name, entry, more) {
  const stats = await promisify(webpack)({
    mode: 'production',
    context: project,
    entry,
    output: { path: out(name), filename: 'main.mjs', module: true, publicPath: 'auto' },
    experiments: { outputModule: true },
    performance: { hints: false },
    ...more,
  });
  assert.ok(!stats.hasErrors(), stats.toString({ all: false, errors: true }));
}

test('webpack for browsers, and for Node', async () => {
  for (const from of ['prefinal', 'prefinal/inline']) {
    const name = `webpack-${from.replaceAll('/', '-')}`;
    await pack(name, program(name, from), { target: ['web', 'es2022'] });
    assert.equal(await shows(name, 'main.mjs'), EXPECTED);
  }
  const asFile = { module: { rules: [{ test: /\.wasm$/, type: 'asset/resource' }] } };
  await pack('webpack-path', program('webpack-path', 'prefinal', 'prefinal/wasm'), { target: ['web', 'es2022'], ...asFile });
  assert.equal(await shows('webpack-path', 'main.mjs'), EXPECTED);
  await pack('webpack-node', program('webpack-node', 'prefinal'), { target: 'node20' });
  assert.equal(runs('webpack-node', 'main.mjs'), EXPECTED);
});
