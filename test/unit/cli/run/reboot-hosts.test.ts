// Reboots a hundred hosts on a fake network: the waves, the verification, and the output.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';

import { rebootOf } from '../../../../src/cli/commands/reboot.ts';
import { Options } from '../../../../src/cli/options.ts';
import { carryOut } from '../../../../src/cli/run/own-plan.ts';
import { overSsh } from '../../../../src/cli/run/hosts.ts';
import { show } from '../../../../src/cli/result.ts';
import type { SlotStatus } from '../../../../src/shared/contract/status.ts';
import type { Transport } from '../../../../src/fleet/ssh/transport.ts';
import { quietContext } from '../../../support/command.ts';
import { factsOf, merge } from '../../../support/host.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { leftOnScreen } from '../../../support/screen.ts';
import { FakeHost } from '../../fleet/apply/fake-fleet.ts';
import { useFake } from '../../practice/azure/server.ts';

const fake = useFake();
const names = Array.from({ length: 100 }, (_, index) => `gpu-${String(index).padStart(2, '0')}`);
let machines: ReadonlyMap<string, FakeHost>;
/** `gpu-00 drain`, `gpu-00 reboot`, …, of all hosts in order. */
let done: string[];

function slot(state: SlotStatus['state']): readonly SlotStatus[] {
  const since = '2026-11-21T00:00:00Z';
  const run = { id: 'r1', startedAt: since, agentId: 7, settings: 'now' };
  const made = state === 'idle' ? { run, settings: 'now' } : {};
  return [
    {
      slot: '0',
      agent: 'a',
      state,
      gpus: [],
      pool: 'gpu-lab',
      since,
      jobsRun: 0,
      ...made,
    },
  ];
}

/** Returns a healthy host without GPUs that runs jobs unless it is drained. */
async function machine(name: string): Promise<FakeHost> {
  const host = new FakeHost([]);
  const { log } = host;
  host.status = managerStatus({ drains: [], slots: slot('idle') });
  host.facts = merge(host.facts, {
    gpus: [],
    driver: { loaded: '580.95.05' },
    docker: { active: true },
    toolkit: { version: '1.20.0' },
    manager: { current: '1', unitActive: 'active', status: host.status },
  });
  await host.serveManager((path) => {
    const [, order] = /^POST \/v1\/(drain|undrain)$/.exec(path) ?? [];
    if (order !== undefined)
      host.status = managerStatus({ drains: [], slots: slot(order === 'drain' ? 'drained' : 'idle') });
  });
  host.onLog = (line) => {
    const [, order] = /^(?:POST \/v1\/)?(drain|undrain|reboot)\b/.exec(line) ?? [];
    if (order !== undefined) done.push(`${name} ${order}`);
  };
  expect(log).toEqual([]);
  return host;
}

beforeEach(async () => {
  done = [];
  machines = new Map(await Promise.all(names.map(async (name) => [name, await machine(name)] as const)));
  writeFileSync(
    join(fake.folder, 'lab.yaml'),
    `organization: ${fake.server.organization}
token: { env: NONE }
defaults: { pool: gpu-lab }
hosts:
${names.map((name) => `  ${name}: {}`).join('\n')}
`,
  );
});
afterEach(() => machines.forEach((host) => host.close()));

async function reboot(given: Readonly<Record<string, unknown>> = {}) {
  const { context, written } = quietContext({ cwd: fake.folder, terminal: true });
  const connect = (): Transport => ({
    close: () => Promise.resolve(),
    connect: (target) => of(target.name).tools().transport.connect(target),
  });
  const result = await carryOut(
    context,
    {
      positionals: [],
      rest: [],
      options: new Options({ yes: true, parallel: '200', ...given }),
      inventory: 'lab.yaml',
      commandLine: 'azp-fleet reboot',
      commands: [],
    },
    {
      command: 'reboot',
      question: (where) => `Reboot ${where}?`,
      unasked: 'run again with --yes',
      changes: (now, before) => rebootOf(now, before, 0),
      again: (since) => `run it again with --booted-before ${since}`,
    },
    {
      wiring: { ...overSsh, connect },
      gather: (_session, { name }) => Promise.resolve(of(name).facts),
      sleep: () => new Promise((resolve) => setImmediate(resolve)),
    },
  );
  show(context, result);
  return {
    result,
    screen: leftOnScreen(written.stdout).join('\n'),
    problems: leftOnScreen(written.stderr).join('\n'),
  };
}

const plan = `100 hosts: the same 1 change (gpu-[00-99])
  ! command  reboot the host
             requested with \`azp-fleet reboot\`
             interrupts the whole machine; drains agents first

Waves: each starts once the previous is healthy; at most 25% of a pool at a time
  1 canary: gpu-00
  2: gpu-[01-25]
  3: gpu-[26-50]
  4: gpu-[51-75]
  5: gpu-[76-99]

Changes: 100 on 100 hosts, 100 hosts to be rebooted.

`;

const of = (name: string): FakeHost => machines.get(name) ?? new FakeHost([]);
const rebooted = () => done.filter((line) => line.endsWith('reboot')).map((line) => line.split(' ')[0]);

describe('a hundred hosts', () => {
  test('are rebooted in the waves of the plan; each is verified before its agents are enabled again', async () => {
    const { result, screen } = await reboot();
    expect(result.exitCode).toBe(0);
    expect(result.json).toMatchObject({
      hosts: names.map(() => ({ verdict: { state: 'healthy', azureAsked: false } })),
    });
    expect(screen).toBe(`${plan}
gpu-[00-99]  healthy      1 change; Azure DevOps not checked

100 hosts: 100 healthy
`);
    expect(new Set(rebooted())).toEqual(new Set(names));
    for (const name of names)
      expect(done.filter((line) => line.startsWith(name))).toEqual([
        `${name} drain`,
        `${name} reboot`,
        `${name} undrain`,
      ]);
    const ends = (wave: readonly string[]) =>
      Math.max(...wave.map((name) => done.indexOf(`${name} undrain`)));
    const begins = (wave: readonly string[]) =>
      Math.min(...wave.map((name) => done.indexOf(`${name} drain`)));
    const waves = [
      [0, 1],
      [1, 26],
      [26, 51],
      [51, 76],
      [76, 100],
    ].map(([from, to]) => names.slice(from, to));
    for (const [at, wave] of waves.slice(1).entries())
      expect(begins(wave)).toBeGreaterThan(ends(waves[at] ?? []));
  });

  test('are not rebooted if the canary has failed; it stays drained', async () => {
    const canary = of('gpu-00');
    canary.onLog = (line) => {
      done.push(`gpu-00 ${line}`);
      if (line === 'reboot') canary.facts = merge(canary.facts, { gpus: factsOf().gpus });
    };
    const { result, screen, problems } = await reboot();
    expect(result.exitCode).toBe(1);
    expect([...machines].filter(([, { log }]) => log.length > 0).map(([name]) => name)).toEqual(['gpu-00']);
    expect(canary.log.join('\n')).not.toContain('undrain');
    expect(screen).toBe(`${plan}
gpu-[01-99]  skipped      not begun because the canary gpu-00 failed: the host has no image for the
                          probe container (checked: none); its agents stay drained
gpu-00       failed       1 change; the host has no image for the probe container (checked: none);
                          its agents stay drained; next: run \`azp-fleet provision\`, which builds or
                          pulls the agent image; then run "azp-fleet provision gpu-00": it proves
                          the host and enables its agents again

100 hosts: 1 failed, 99 skipped
`);
    expect(problems).toContain(
      'gpu-[01-99]: not begun because the canary gpu-00 failed: the host has no image for the probe',
    );
    expect(problems).toContain('next      fix gpu-00, then run it again with --booted-before');
  });
});

describe('the rebooted hosts', () => {
  const at = '2026-11-21T12:00:00Z';
  const drained = (uptimeS: number) =>
    merge(factsOf({ uptimeS }), {
      manager: {
        status: managerStatus({
          at: '2026-11-21T13:00:00Z',
          drains: [{ reason: 'reboot the host', at, owner: 'ann@laptop', run: 'run-0' }],
        }),
      },
    });

  it.each([
    ['a host', factsOf(), 0, true],
    ['a host that has been up for longer', factsOf({ uptimeS: 7200 }), 3600, true],
    ['not a host that has been up for less', factsOf({ uptimeS: 600 }), 3600, false],
    ['a host that does not report its uptime', factsOf({ uptimeS: undefined }), 3600, true],
    ['a host that an earlier run only drained', drained(7200), 0, true],
    ['not a host that an earlier run rebooted and did not verify', drained(600), 0, false],
  ] as const)('%s', (_, facts, upForS, expected) => {
    expect(rebootOf(facts, facts, upForS * 1000).length > 0).toBe(expected);
  });

  it.each([
    ['30d', '2026-10-23T12:00:00.000Z'],
    ['90m', '2026-11-22T10:30:00.000Z'],
    ['2026-11-22T05:40:00Z', '2026-11-22T05:40:00.000Z'],
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
  ])('--booted-before %s', (bootedBefore, expected) => {
    const now = Date.parse('2026-11-22T12:00:00Z');
    const moment = new Options({ bootedBefore }).moment('bootedBefore', now);
    expect(new Date(moment ?? 0).toISOString()).toBe(expected);
  });

  it.each(['yesterday', '2026-13-01', '1 h', ''])('--booted-before %s is refused', (bootedBefore) => {
    expect(() => new Options({ bootedBefore }).moment('bootedBefore', 0)).toThrow(
      expect.objectContaining({ exitCode: 2 }),
    );
  });

  it('not a host that has already been rebooted', () => {
    expect(rebootOf(factsOf({ bootId: 'another' }), factsOf(), 0)).toEqual([]);
  });
});
