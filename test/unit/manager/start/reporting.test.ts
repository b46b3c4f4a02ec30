// Uncaught errors in a separate process: their effect on it, and what it logs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

const source = (path: string): string =>
  fileURLToPath(new URL(`../../../../src/manager/${path}`, import.meta.url));
let bundle: string;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nets-'));
  bundle = join(folder, 'program.mjs');
  const contents = `
import { handleStrayErrors } from ${JSON.stringify(source('start/reporting.ts'))};
import { journalLogger } from ${JSON.stringify(source('start/reporting.ts'))};
const counts = {};
const log = journalLogger((line) => process.stdout.write(line), false);
const metrics = { strayError: (kind, times) => void (counts[kind] = (counts[kind] ?? 0) + times) };
handleStrayErrors(process, process.argv[2], { log, metrics });
process.on('message', async (what) => {
  if (what === 'log') { log.log('info', 'a line'); await new Promise(setImmediate); }
  if (what === 'reject') { void Promise.reject(new Error('unhandled')); await new Promise(setImmediate); }
  if (what === 'throw') setImmediate(() => { throw new Error('uncaught'); });
  else process.send(counts);
});
process.send('ready');
`;
  await build({
    stdin: { contents, resolveDir: folder },
    bundle: true,
    outfile: bundle,
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let crashes: string;
beforeEach(() => {
  crashes = join(mkdtempSync(join(folder, 'state-')), 'crashes');
});

type Counts = Partial<Record<'rejection' | 'output' | 'exception', number>>;

async function started() {
  const child = spawn(execPath, [bundle, crashes], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  let output = '';
  child.stdout?.on('data', (chunk) => (output += String(chunk)));
  await once(child, 'message');
  return {
    output: () => output,
    /** Closes its standard output. */
    closeOutput: () => child.stdout?.destroy(),
    async run(what: 'log' | 'reject'): Promise<Counts> {
      child.send(what);
      const [counts] = (await once(child, 'message')) as [Counts];
      return counts;
    },
    async fail(): Promise<unknown> {
      child.send('throw');
      const [code] = (await once(child, 'close')) as [unknown];
      return code;
    },
    async kill(): Promise<void> {
      child.kill('SIGKILL');
      await once(child, 'close');
    },
  };
}

test('a log that cannot be written is counted, and the process continues', async () => {
  const program = await started();
  program.closeOutput();
  await program.run('log');
  await expect.poll(async () => (await program.run('log')).output).toBeGreaterThan(0);
  expect(await program.run('reject')).toMatchObject({ rejection: 1 });
  await program.kill();
});

test('an unhandled rejection is logged and counted, and the process continues', async () => {
  const program = await started();
  await program.run('reject');
  expect(await program.run('reject')).toEqual({ exception: 0, rejection: 2 });
  await expect.poll(() => program.output()).toMatch(/^<3>a promise was rejected .*unhandled/m);
  await program.kill();
});

test('an exception is logged, ends the process, and is counted by the next one', async () => {
  const first = await started();
  expect(await first.fail()).toBe(70);
  expect(first.output()).toMatch(/^<3>an uncaught error stops the manager.*uncaught/m);
  const second = await started();
  expect(await second.run('log')).toEqual({ exception: 1 });
  expect(await second.fail()).toBe(70);
  expect(readFileSync(crashes, 'utf8')).toBe('2\n');
});

test('an exception ends the process if nothing can be written', async () => {
  crashes = join(folder, 'nowhere', 'crashes');
  const program = await started();
  program.closeOutput();
  expect(await program.fail()).toBe(70);
});
