import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFetch } from '../../../../src/shared/azure/http/proxy.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { AgentStore } from '../../../../src/manager/host-mode/agent-store.ts';
import { Archives } from '../../../../src/manager/machine/archives.ts';
import type { CommandResult } from '../../../../src/manager/machine/command.ts';
import { StillClock } from '../../../support/clock.ts';

// Files and downloads are real; the host's programs are stand-ins.
let directory: string;
let answers: Record<string, Partial<CommandResult>>;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'agent-store-'));
  answers = {};
});
afterEach(() => rmSync(directory, { recursive: true }));

const command = (program: string): Promise<CommandResult> =>
  Promise.resolve({ code: 0, output: '', timedOut: false, stillRunning: () => false, ...answers[program] });

/** Real downloads, without earlier ones. */
const archives = (): Archives =>
  new Archives({
    fetch: createFetch({ noProxy: [] }),
    clock: new StillClock(),
    log: silentLogger,
    uploads: join(directory, 'archives'),
    state: { value: { archives: {} }, update: () => Promise.resolve() },
  });

test('an agent that lacks libraries on the host is not started, and they are named', async () => {
  const store = new AgentStore(join(directory, 'agents'), archives(), command);
  const release = { version: '5.279.0', url: '', sha256: 'a'.repeat(64) };
  const path = join(directory, 'agents', '5.279.0-aaaaaaaaaaaa');
  mkdirSync(join(path, 'bin'), { recursive: true });
  writeFileSync(join(path, 'bin/libcoreclr.so'), '');
  answers['ldd'] = { output: `${path}/bin/libcoreclr.so:\n\tlibstdc++.so.6 => not found\n` };
  answers['ldconfig'] = { output: '\tlibssl.so.3 (libc6,x86-64) => /lib/x86_64-linux-gnu/libssl.so.3\n' };
  await expect(store.path(release)).rejects.toMatchObject({
    problem: {
      code: 'host-mode.libraries',
      what: 'the agent cannot run on this host: libstdc++.so.6, libicu are missing',
      next: expect.stringContaining(`${path}/bin/installdependencies.sh`) as string,
    },
  });
  answers['ldd'] = { output: 'libz.so.1 => /lib/libz.so.1 (0x1)' };
  answers['ldconfig'] = { output: '\tlibssl.so.1.1 (libc6)\n\tlibicuuc.so.72 (libc6)\n' };
  expect(await store.path(release)).toBe(path);
});

test('the agent is fetched once per version, also for parallel starts, and only with the right sha256', async () => {
  let served = 0;
  answers['tar'] = {};
  const server = createServer((_, response) => {
    served += 1;
    response.end('archive');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent.tar.gz`;
  const store = new AgentStore(join(directory, 'agents'), archives(), command);
  const sha256 = createHash('sha256').update('archive').digest('hex');
  const release = { version: '5.279.0', url, sha256 };
  const [path, ...same] = await Promise.all([store.path(release), store.path(release)]);
  expect([...same, await store.path(release)]).toEqual([path, path]);
  expect(served).toBe(1);
  const wrong = { version: '4.276.0', url, sha256: 'f'.repeat(64) };
  await expect(store.path(wrong)).rejects.toThrow(`has another sha256 than expected: ${sha256}`);
  server.closeAllConnections();
  server.close();
});
