// A command with its own changes, with a fake network; it sends no request to Azure DevOps.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';

import { FleetError } from '../../../../src/shared/base/errors.ts';
import { Options } from '../../../../src/cli/options.ts';
import { probes } from '../../../../src/fleet/facts/parse.ts';
import { carryOut } from '../../../../src/cli/run/own-plan.ts';
import { overSsh } from '../../../../src/cli/run/hosts.ts';
import type { Transport } from '../../../../src/fleet/ssh/transport.ts';
import { rebootChange } from '../../../../src/fleet/steps/change.ts';
import { quietContext } from '../../../support/command.ts';
import { merge } from '../../../support/host.ts';
import { FakeHost } from '../../fleet/apply/fake-fleet.ts';
import { useFake } from '../../practice/azure/server.ts';

const fake = useFake();
let asked: string;
let machine: FakeHost;

beforeEach(() => {
  asked = join(fake.folder, 'asked');
  machine = new FakeHost([]);
  writeFileSync(
    join(fake.folder, 'lab.yaml'),
    `organization: ${fake.server.organization}
token: { cmd: "touch ${asked}; echo good-token" }
defaults: { pool: gpu-lab }
hosts: { up: {}, down: {} }
`,
  );
});

/** Plans a reboot of each host, done once the boot id differs from the first facts. */
function rebootHosts(given: Readonly<Record<string, unknown>>) {
  const { context, written } = quietContext({ cwd: fake.folder });
  const input = {
    positionals: [],
    rest: [],
    options: new Options(given),
    inventory: 'lab.yaml',
    commandLine: 'azp-fleet restart',
    commands: [],
  };
  const { transport, gather } = machine.tools();
  const connect = (): Transport => ({
    close: () => transport.close(),
    connect: async (target) => {
      if (target.name === 'up') return transport.connect(target);
      throw new FleetError({ code: 'ssh.refused', what: 'connection refused' });
    },
  });
  const result = carryOut(
    context,
    input,
    {
      command: 'reboot',
      question: (where) => `Reboot ${where}?`,
      unasked: 'run again with --yes',
      changes: (now, before) => (now.bootId === before.bootId ? [rebootChange('command', 'requested')] : []),
    },
    { wiring: { ...overSsh, connect }, gather },
  );
  return { result, written };
}

test('the run locks, applies and unlocks; a failed host does not affect others; no request to Azure DevOps', async () => {
  const { result } = rebootHosts({ yes: true });
  expect(await result).toMatchObject({
    exitCode: 1,
    json: {
      hosts: [
        { host: 'up', state: 'changed', changes: 1 },
        { host: 'down', state: 'unreachable', changes: 0 },
      ],
    },
    problems: [{ code: 'ssh.refused', host: 'down' }],
  });
  expect(machine.log.filter((line) => ['lock', 'reboot', 'unlock'].includes(line))).toEqual([
    'lock',
    'reboot',
    'lock',
    'unlock',
  ]);
  expect(existsSync(asked)).toBe(false);
  expect(await fake.control.requests()).toEqual([]);
});

test('the plan is shown with a question first: without a terminal, nothing is changed', async () => {
  const { result, written } = rebootHosts({});
  await expect(result).rejects.toMatchObject({ problem: { next: 'run again with --yes' } });
  expect(written.stdout).toContain('reboot the host');
  expect(machine.log).not.toContain('reboot');
});

test('a change that would interrupt another user’s container is refused and names it', async () => {
  machine.facts = merge(machine.facts, {
    others: { ...machine.facts.others, containers: ['training-of-bob'] },
  });
  const { result } = rebootHosts({ yes: true });
  expect(await result).toMatchObject({
    exitCode: 1,
    json: { hosts: [{ host: 'up', state: 'failed', problem: { code: 'plan.refused' } }, { host: 'down' }] },
  });
  expect(JSON.stringify(await result)).toContain('training-of-bob');
  expect(machine.log).not.toContain('reboot');
});

test('--disturb-others permits to interrupt it', async () => {
  machine.facts = merge(machine.facts, {
    others: { ...machine.facts.others, containers: ['training-of-bob'] },
  });
  await rebootHosts({ yes: true, disturbOthers: true }).result;
  expect(machine.log).toContain('reboot');
});

test('work of others that is unknown is not disturbed: it is named, and --disturb-others goes on', async () => {
  machine.facts = merge(machine.facts, { unknown: [{ fact: 'others', why: 'no answer in 5 s' }] });
  const { result } = rebootHosts({ yes: true });
  expect(await result).toMatchObject({
    exitCode: 1,
    json: {
      hosts: [
        {
          host: 'up',
          state: 'failed',
          problem: {
            code: 'facts.incomplete',
            what: 'facts incomplete: others (no answer in 5 s)',
            next: expect.stringContaining('or add --disturb-others') as string,
          },
        },
        {},
      ],
    },
  });
  expect(machine.log).not.toContain('reboot');
  const { result: disturbing, written } = rebootHosts({ yes: true, disturbOthers: true });
  await disturbing;
  expect(machine.log).toContain('reboot');
  expect(written.stdout).toContain('facts incomplete: others (no answer in 5 s)');
});

const others = probes.map(({ name }) => name).filter((name) => name !== 'os' && name !== 'machine');
test.each(others)(
  'a host whose %s facts are unknown is not rebooted, and the problem names them',
  async (fact) => {
    machine.facts = merge(machine.facts, { unknown: [{ fact, why: 'exit code 1' }] });
    const { result } = rebootHosts({ yes: true });
    expect(await result).toMatchObject({
      exitCode: 1,
      json: {
        hosts: [
          {
            state: 'failed',
            problem: {
              code: 'facts.incomplete',
              what: expect.stringContaining(`facts incomplete: ${fact} (exit code 1)`) as string,
            },
          },
          {},
        ],
      },
    });
    expect(machine.log).not.toContain('reboot');
  },
);

test('nothing is changed beside a change that may be in progress, also with --disturb-others', async () => {
  machine.facts = merge(machine.facts, { unknown: [{ fact: 'changes', why: 'exit code 1' }] });
  const { result } = rebootHosts({ yes: true, disturbOthers: true });
  expect(await result).toMatchObject({
    exitCode: 1,
    json: { hosts: [{ problem: { what: 'facts incomplete: changes (exit code 1)' } }, {}] },
  });
  expect(machine.log).not.toContain('reboot');
});

test.each([{}, { breakLock: true }])('a change in progress is awaited first (%j)', async (more) => {
  machine.begin('driver');
  await rebootHosts({ yes: true, ...more }).result;
  const did = machine.log.filter((line) => ['lock', 'follow driver', 'reboot'].includes(line));
  expect(did.slice(0, 4)).toEqual(['lock', 'follow driver', 'lock', 'reboot']);
});

test('a host that another run has locked is refused with the owner, and is not changed', async () => {
  machine.begin('driver');
  machine.lockedBy = new FleetError({ code: 'ssh.locked', what: 'bob@desk is working on this host' });
  const { result } = rebootHosts({ yes: true });
  expect(await result).toMatchObject({ problems: [{ what: 'bob@desk is working on this host' }, {}] });
  expect(machine.log).toEqual([]);
});

test('a change started during the question is awaited as well', async () => {
  machine.onLog = (line) => {
    if (line === 'lock' && machine.log.length === 1) machine.begin('driver');
  };
  await rebootHosts({ yes: true }).result;
  expect(machine.log.slice(0, 3)).toEqual(['lock', 'follow driver', 'reboot']);
});
