// Uncaught errors in a separate process: their effect on it, and what it logs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Cause } from '../../../../src/manager/model.ts';
import { fault } from '../../../support/fault.ts';

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
import { Subsystems } from ${JSON.stringify(source('subsystems.ts'))};
import { systemClock } from ${JSON.stringify(source('../shared/base/clock.ts'))};
const counts = {};
const log = journalLogger((line) => process.stdout.write(line), false);
const metrics = { strayError: (kind, times) => void (counts[kind] = (counts[kind] ?? 0) + times) };
const { latest, off } = handleStrayErrors(process, process.argv[2], {
  log,
  metrics,
  clock: { wall: () => Date.now() },
});
const subsystems = new Subsystems({ log, clock: systemClock(1) }, { latest, off });
const end = new AbortController().signal;
process.on('message', async (what) => {
  if (what === 'log') { log.log('info', 'a line'); await new Promise(setImmediate); }
  if (what === 'reject') { void Promise.reject(new Error('unhandled')); await new Promise(setImmediate); }
  if (what === 'throw') setImmediate(() => { throw new Error('uncaught'); });
  else if (what === 'webhook')
    void subsystems.run('webhook', end, async () => void setTimeout(() => { throw new Error('no message'); }));
  else if (what === 'problems') process.send(subsystems.problems);
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
    send: (what: string): void => void child.send(what),
    /** Closes its standard output. */
    closeOutput: () => child.stdout?.destroy(),
    async run(what: 'log' | 'reject'): Promise<Counts> {
      child.send(what);
      const [counts] = (await once(child, 'message')) as [Counts];
      return counts;
    },
    async problems(): Promise<readonly Cause[]> {
      child.send('problems');
      const [problems] = (await once(child, 'message')) as [readonly Cause[]];
      return problems;
    },
    async fail(how: 'throw' | 'webhook' = 'throw'): Promise<unknown> {
      child.send(how);
      const [code] = (await once(child, 'close')) as [unknown];
      return code;
    },
    async kill(): Promise<void> {
      child.kill('SIGKILL');
      await once(child, 'close');
    },
  };
}

fault('log-unread', 'a log that cannot be written is counted, and the process continues', async () => {
  const program = await started();
  program.closeOutput();
  await program.run('log');
  await expect.poll(async () => (await program.run('log')).output).toBeGreaterThan(0);
  expect(await program.run('reject')).toMatchObject({ rejection: 1 });
  await program.kill();
});

fault(
  'unhandled-rejection',
  'an unhandled rejection is logged and counted, and the process continues',
  async () => {
    const program = await started();
    await program.run('reject');
    expect(await program.run('reject')).toEqual({ exception: 0, rejection: 2 });
    await expect.poll(() => program.output()).toMatch(/^<3>a promise was rejected .*unhandled/m);
    await program.kill();
  },
);

fault(
  'uncaught-exception',
  'an exception is logged, ends the process, and is counted by the next one',
  async () => {
    const first = await started();
    expect(await first.fail()).toBe(70);
    expect(first.output()).toMatch(/^<3>an uncaught error stops the manager.*uncaught/m);
    const second = await started();
    expect(await second.run('log')).toEqual({ exception: 1 });
    expect(await second.fail()).toBe(70);
    expect(readFileSync(crashes, 'utf8')).toBe('2\n');
  },
);

test('the next process reports why the one before ended', async () => {
  const first = await started();
  expect(await first.problems()).toEqual([]);
  await first.fail();
  const second = await started();
  expect(await second.problems()).toMatchObject([
    {
      code: 'manager.crashed',
      what: expect.stringMatching(/uncaught error at .*Z; running jobs continued: Error: uncaught$/u),
    },
  ]);
  await second.kill();
});

test('a subsystem that ends the process three times for one reason is off in the next one', async () => {
  for (let count = 0; count < 3; count += 1) expect(await (await started()).fail('webhook')).toBe(70);
  const next = await started();
  expect(await next.problems()).toMatchObject([
    {
      code: 'manager.subsystem-off',
      what: expect.stringMatching(/without its subsystem "webhook".*: Error: no message$/u),
    },
    { code: 'manager.crashed', what: expect.stringContaining('in subsystem "webhook"') },
  ]);
  // It does not run: the process stays.
  next.send('webhook');
  expect(await next.problems()).toHaveLength(2);
  await next.kill();
});

test.each([
  ['empty', ''],
  ['cut off', '{'],
  ['with other members', '[1,{"at":"x"},{"at":1}]'],
  ['deep', '['.repeat(100_000)],
])('a damaged file of reasons counts as none: %s', async (_, text) => {
  writeFileSync(`${crashes}.json`, text);
  const program = await started();
  expect(await program.problems()).toEqual([]);
  await program.kill();
});

test('an exception ends the process if nothing can be written', async () => {
  crashes = join(folder, 'nowhere', 'crashes');
  const program = await started();
  program.closeOutput();
  expect(await program.fail()).toBe(70);
});
