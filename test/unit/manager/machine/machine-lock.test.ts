import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execPath } from 'node:process';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { lockMachine } from '../../../../src/manager/machine/machine-lock.ts';
import { fault } from '../../../support/fault.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const program = `
import { lockMachine } from './machine-lock.ts';
await lockMachine(process.argv[2]);
console.log('locked');
setInterval(() => undefined, 1000);
`;

/** The bundled program, for each Node that the tests run on. */
let bundle: string;
beforeAll(async () => {
  bundle = join(mkdtempSync(join(tmpdir(), 'lock-program-')), 'lock.mjs');
  const resolveDir = 'src/manager/machine';
  const common = { bundle: true, platform: 'node', format: 'esm', target: 'node22.13' } as const;
  await build({ ...common, stdin: { contents: program, resolveDir }, outfile: bundle, logLevel: 'warning' });
});
afterAll(() => rmSync(dirname(bundle), { recursive: true }));

/** Starts another manager's process; resolves once it has the lock. */
async function other(): Promise<{ readonly pid: number | undefined; kill(): Promise<void> }> {
  const child = spawn(execPath, [bundle, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return {
    pid: child.pid,
    kill: async () => {
      child.kill('SIGKILL');
      await once(child, 'close');
    },
  };
}

fault(
  'second-manager',
  'a second manager names the process that has the lock; a killed manager releases it',
  async () => {
    const first = await other();
    await expect(lockMachine(folder)).rejects.toMatchObject({
      problem: {
        code: 'manager.already-running',
        what: `another manager already runs on this machine (process ${first.pid})`,
      },
    });
    await first.kill();
    await lockMachine(folder);
  },
);
