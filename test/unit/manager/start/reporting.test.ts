// Errors that nothing catches, in a process of its own: who is taken down by them, and what is told.
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
import { castNets } from ${JSON.stringify(source('start/reporting.ts'))};
import { journalLogger } from ${JSON.stringify(source('start/reporting.ts'))};
const counts = {};
const log = journalLogger((line) => process.stdout.write(line), false);
const metrics = { strayError: (kind, times) => void (counts[kind] = (counts[kind] ?? 0) + times) };
castNets(process, process.argv[2], { log, metrics });
process.on('message', async (what) => {
  if (what === 'log') { log.log('info', 'a line'); await new Promise(setImmediate); }
  if (what === 'reject') { void Promise.reject(new Error('nobody waits')); await new Promise(setImmediate); }
  if (what === 'throw') setImmediate(() => { throw new Error('nobody catches'); });
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
  let said = '';
  child.stdout?.on('data', (chunk) => (said += String(chunk)));
  await once(child, 'message');
  return {
    said: () => said,
    /** Nobody reads its output any more. */
    deafen: () => child.stdout?.destroy(),
    async does(what: 'log' | 'reject'): Promise<Counts> {
      child.send(what);
      const [counts] = (await once(child, 'message')) as [Counts];
      return counts;
    },
    async throws(): Promise<unknown> {
      child.send('throw');
      const [code] = (await once(child, 'close')) as [unknown];
      return code;
    },
    async ends(): Promise<void> {
      child.kill('SIGKILL');
      await once(child, 'close');
    },
  };
}

test('a log that nobody reads any more does not end the process, and is counted', async () => {
  const program = await started();
  program.deafen();
  await program.does('log');
  await expect.poll(async () => (await program.does('log')).output).toBeGreaterThan(0);
  expect(await program.does('reject')).toMatchObject({ rejection: 1 });
  await program.ends();
});

test('a promise that nobody waited for is logged with its cause and counted; the process goes on', async () => {
  const program = await started();
  await program.does('reject');
  expect(await program.does('reject')).toEqual({ exception: 0, rejection: 2 });
  await expect.poll(() => program.said()).toMatch(/^<3>a promise was rejected .*nobody waits/m);
  await program.ends();
});

test('an exception is logged with its cause and ends the process; the next one knows how many there were', async () => {
  const first = await started();
  expect(await first.throws()).toBe(70);
  expect(first.said()).toMatch(/^<3>an error that nobody caught ends the manager.*nobody catches/m);
  const second = await started();
  expect(await second.does('log')).toEqual({ exception: 1 });
  expect(await second.throws()).toBe(70);
  expect(readFileSync(crashes, 'utf8')).toBe('2\n');
});

test('an exception ends the process also where nothing can be written', async () => {
  crashes = join(folder, 'nowhere', 'crashes');
  const program = await started();
  program.deafen();
  expect(await program.throws()).toBe(70);
});
