import { afterEach, describe, expect, it } from 'vitest';

import { awaitManager } from '../../../../src/fleet/apply/await-manager.ts';
import { HostConnection } from '../../../../src/fleet/apply/connection.ts';
import type { ManagerStatus } from '../../../../src/shared/contract/status.ts';
import { desiredOf } from '../../../support/host.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { FakeHost } from './fake-fleet.ts';

const hosts: FakeHost[] = [];
afterEach(() => hosts.splice(0).forEach((host) => host.close()));

/** Waits for configuration `new` on a host whose manager reports these statuses in turn, the last one forever. */
async function awaiting(...said: Partial<ManagerStatus>[]): Promise<string[]> {
  const host = new FakeHost([]);
  hosts.push(host);
  let asked = 0;
  await host.serveManager(() => {
    host.status = managerStatus(said[Math.min(asked, said.length - 1)] ?? {});
    asked += 1;
  });
  const connection = new HostConnection(desiredOf().host, host.tools());
  const lines: string[] = [];
  const desired = { host: 'h200-1', configHash: 'new', timeoutS: 60 };
  await awaitManager(
    () => connection.session(),
    desired,
    (line) => lines.push(line),
    host.tools(),
  );
  return lines;
}

const problem = { code: 'azure.auth', what: 'the token is not accepted', next: 'replace it' };

describe('waiting for the manager', () => {
  it('ends when the image of the new configuration is ready', async () => {
    const lines = await awaiting(
      { configHash: 'old', image: { state: 'ready' } },
      { configHash: 'new', image: { state: 'building', progress: 'Step 3/9' } },
      { configHash: 'new', image: { state: 'ready' } },
    );
    expect(lines).toEqual(['agent image ready', 'agent image building: Step 3/9', 'agent image ready']);
  });

  it('waits for the next look of a manager whose image had failed before', async () => {
    const failed = {
      configHash: 'new',
      image: { state: 'failed', cause: 'no route to the registry' },
    } as const;
    const lines = await awaiting(failed, failed, { configHash: 'new', image: { state: 'ready' } });
    expect(lines.at(-1)).toBe('agent image ready');
  });

  it('ends at once when the image fails during the wait', async () => {
    const failed = { configHash: 'new', image: { state: 'failed', cause: 'no space' } } as const;
    const ready = { configHash: 'new', image: { state: 'ready' } } as const;
    await expect(
      awaiting({ configHash: 'new', image: { state: 'building' } }, failed, ready),
    ).rejects.toMatchObject({ problem: { code: 'image.failed' } });
  });

  it.each<[string, Partial<ManagerStatus>, object]>([
    [
      'the image fails',
      { configHash: 'new', image: { state: 'failed', cause: 'no route to the registry' } },
      { code: 'image.failed', seen: 'no route to the registry' },
    ],
    [
      'the image fails and agents have an earlier one',
      {
        configHash: 'new',
        image: { state: 'failed', digest: 'sha256:old', cause: 'no route to the registry' },
      },
      { code: 'image.failed', next: 'fix the cause and run again; agents continue with the existing image' },
    ],
    ['a problem stays', { configHash: 'new', image: { state: 'missing' }, problems: [problem] }, problem],
    ['it takes too long', { configHash: 'new', image: { state: 'pulling' } }, { code: 'manager.not-ready' }],
    [
      'it never takes the configuration',
      { configHash: 'old', image: { state: 'ready' } },
      { code: 'manager.not-ready' },
    ],
  ])('ends with the cause when %s', async (_name, status, expected) => {
    await expect(awaiting(status)).rejects.toMatchObject({ problem: expected });
  });

  it('shows the last log lines of a manager that does not run', async () => {
    const host = new FakeHost([]);
    host.onRun = () => ({ code: 1, tail: 'failed\nSyntaxError: unexpected end of JSON input' });
    const connection = new HostConnection(desiredOf().host, host.tools());
    const desired = { host: 'h200-1', configHash: 'new', timeoutS: 60 };
    await expect(
      awaitManager(
        () => connection.session(),
        desired,
        () => undefined,
        host.tools(),
      ),
    ).rejects.toMatchObject({
      problem: { code: 'manager.not-running', seen: expect.stringContaining('SyntaxError') },
    });
  });
});
