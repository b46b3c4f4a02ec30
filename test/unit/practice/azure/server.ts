import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { systemClock } from '../../../../src/shared/base/clock.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import type { AzureClient, NewAgent } from '../../../../src/shared/azure/client.ts';
import { createAzureClient } from '../../../../src/shared/azure/create-client.ts';
import { patCredential } from '../../../../src/shared/azure/http/credential.ts';
import { fakeControl, type FakeControl } from '../../../../practice/azure/control/control.ts';
import { startFake, type RunningFake } from '../../../../practice/azure/start.ts';
import type { AgentKey } from '../../../../src/shared/azure/keys.ts';
import type { RestOptions } from '../../../../src/shared/azure/http/rest.ts';

export interface Fixture {
  readonly server: RunningFake;
  readonly control: FakeControl;
  readonly tokenFile: string;
  readonly folder: string;
  /** The server's clock runs this many milliseconds ahead; zero again after each test. */
  ahead: number;
  /** Pauses that the client made, in milliseconds; they take no time here. */
  readonly pauses: number[];
  client(options?: Partial<RestOptions>): AzureClient;
}

/** A fake server for a test file: real HTTP on loopback, put right again after each test. */
export function useFake(speed = 1, address: { readonly publicUrl?: string } = {}): Fixture {
  const folder = mkdtempSync(join(tmpdir(), 'azure-'));
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, 'good-token\n', { mode: 0o600 });
  const pauses: number[] = [];
  let server: RunningFake | undefined;
  let ahead = 0;
  const running = () => {
    if (server === undefined) throw new Error('not started yet');
    return server;
  };
  beforeAll(async () => {
    server = await startFake({
      host: '127.0.0.1',
      port: 0,
      tokenFile,
      organization: 'lab',
      projects: ['vision', 'two words'],
      ...address,
      clock: { ...systemClock(speed), wall: () => Date.now() + ahead },
    });
  });
  afterEach(async () => {
    const control = fakeControl(running().origin);
    await Promise.all([
      control.clearFaults(),
      control.setToken('valid'),
      control.deny([]),
      control.settle(0),
      control.readDemands(true),
      control.listUnmatched(true),
    ]);
    pauses.length = 0;
    ahead = 0;
  });
  afterAll(async () => {
    await running().close();
    rmSync(folder, { recursive: true });
  });
  return {
    tokenFile,
    folder,
    pauses,
    set ahead(ms: number) {
      ahead = ms;
    },
    get ahead() {
      return ahead;
    },
    get server() {
      return running();
    },
    get control() {
      return fakeControl(running().origin);
    },
    client: (options) =>
      createAzureClient({
        organization: running().organization,
        credential: patCredential(new Secret('good-token')),
        log: silentLogger,
        signal: new AbortController().signal,
        clock: { ...systemClock(1), wait: async (ms) => void pauses.push(ms) },
        ...options,
      }),
  };
}

export function newAgent(name: string, key: AgentKey): NewAgent {
  return {
    name,
    version: '4.275.0',
    osDescription: 'Linux 6.1',
    systemCapabilities: { 'Agent.Version': '4.275.0', git: '/usr/bin/git' },
    publicKey: key.publicKey,
  };
}

/** What a call failed of; undefined when it did not. */
export async function problem(work: Promise<unknown>) {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown as { problem?: { code: string; seen?: string; next?: string; what: string } },
  );
  return error?.problem;
}
