import { afterEach, describe, expect, it } from 'vitest';

import { FleetError } from '../../../../src/shared/base/errors.ts';
import { awaitManager, awaitReport } from '../../../../src/fleet/apply/await-manager.ts';
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

describe('after a reboot', () => {
  const refused = new FleetError({ code: 'manager.unreachable', what: 'the manager does not answer' });
  const image = (state: 'missing' | 'ready') => managerStatus({ image: { state }, images: [] });

  /** Returns how often the manager was asked; the last answer stays. */
  async function asked(...answers: readonly (ManagerStatus | FleetError)[]): Promise<number> {
    const host = new FakeHost([]);
    hosts.push(host);
    let calls = 0;
    const status = async () => {
      const answer = answers[Math.min(calls, answers.length - 1)];
      calls += 1;
      if (answer === undefined || answer instanceof FleetError) throw answer;
      return answer;
    };
    await awaitReport({ status }, host.tools());
    return calls;
  }

  it('waits until the manager answers and has looked for its images', async () => {
    expect(await asked(refused, refused, image('missing'), image('ready'))).toBe(4);
  });

  it.each([
    ['does not answer', refused],
    ['never looks for its images', image('missing')],
  ])('goes on when the manager %s', async (_, answer) => {
    const calls = await asked(answer);
    expect(calls).toBeGreaterThan(20);
    expect(calls).toBeLessThan(100);
  });

  it('ends with the trouble of the connection', async () => {
    const lost = new FleetError({ code: 'ssh.connection-lost', what: 'the connection was lost' });
    await expect(asked(lost)).rejects.toBe(lost);
  });
});
