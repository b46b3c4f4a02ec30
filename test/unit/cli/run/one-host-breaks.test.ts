// A bug that only one host's facts trigger is reported for that host; the other hosts are shown as usual.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type * as GatherModule from '../../../../src/fleet/facts/gather.ts';
import type { runCommand as RunCommand } from '../../../support/command.ts';
import { framesSaid, hostileHost, type HostileHost } from '../../../support/hostile-host.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { useFake } from '../../practice/azure/server.ts';

const { breaking } = vi.hoisted(() => ({ breaking: { what: '' } }));

/** Wraps a module: the function named in `breaking` throws if an argument contains data of gpu-2. */
const { breakable } = vi.hoisted(() => ({
  breakable: (module: object): object =>
    Object.fromEntries(
      Object.entries(module).map(([name, value]: [string, unknown]) => [
        name,
        typeof value !== 'function' || /^[A-Z]/.test(name)
          ? value
          : (...args: unknown[]): unknown => {
              const json = breaking.what === name ? JSON.stringify(args) : '';
              // Facts contain the machine's name, connection options the host's name.
              if (json.includes('of-gpu-2') || (name === 'buildOptions' && json.includes('"gpu-2"')))
                throw new TypeError('undefined is not what was meant');
              return (value as (...all: unknown[]) => unknown)(...args);
            },
      ]),
    ),
}));

/** Returns facts of gpu-2 on which leftDrained throws: callers in its own file do not use the wrapped module. */
const { withBrokenDrains } = vi.hoisted(() => ({
  withBrokenDrains: (facts: Facts): Facts => {
    const { status } = facts.manager;
    if (breaking.what !== 'leftDrained' || status?.host !== 'of-gpu-2') return facts;
    const get = () => {
      if (new Error('caller').stack?.includes('leftDrained') !== true) return status.drains;
      throw new TypeError('undefined is not what was meant');
    };
    return {
      ...facts,
      manager: { ...facts.manager, status: Object.defineProperty({ ...status }, 'drains', { get }) },
    };
  },
}));

vi.mock('../../../../src/fleet/artifacts/load.ts', async () => {
  const { desiredOf } = await import('../../../support/host.ts');
  return { loadArtifacts: () => Promise.resolve(desiredOf().artifacts) };
});
vi.mock('../../../../src/fleet/verdict/judge.ts', async (original) => breakable(await original()));
vi.mock('../../../../src/fleet/steps/pool-names.ts', async (original) => breakable(await original()));
vi.mock('../../../../src/fleet/plan/plan.ts', async (original) => breakable(await original()));
vi.mock('../../../../src/fleet/plan/held-names.ts', async (original) => breakable(await original()));
vi.mock('../../../../src/fleet/plan/wave-fleet.ts', async (original) => breakable(await original()));
vi.mock('../../../../src/fleet/status/image.ts', async (original) => breakable(await original()));
vi.mock('../../../../src/shared/contract/status.ts', async (original) => breakable(await original()));
vi.mock('../../../../src/fleet/facts/gather.ts', async (original) => {
  const { gatherFacts, ...others } = await original<typeof GatherModule>();
  const gather: typeof gatherFacts = async (...args) =>
    withBrokenDrains((await gatherFacts(...args)) as Facts);
  return { ...others, gatherFacts: gather };
});
vi.mock('../../../../src/fleet/ssh/config/options.ts', async (original) => breakable(await original()));

const cwd = mkdtempSync(join(tmpdir(), 'one-host-breaks-'));
const fake = useFake();
let runCommand: typeof RunCommand;
const machines: HostileHost[] = [];
const managers: Server[] = [];

beforeAll(async () => {
  // Test files share loaded modules, and a module that is already loaded is not wrapped.
  vi.resetModules();
  ({ runCommand } = await import('../../../support/command.ts'));
  const lines: string[] = [];
  for (const name of ['gpu-1', 'gpu-2']) {
    const status = managerStatus({ host: `of-${name}`, at: new Date().toISOString(), drained: true });
    const socket = join(cwd, name);
    const manager = createServer((_request, response) => response.end(JSON.stringify(status)));
    await new Promise<void>((resolve) => void manager.listen(socket, resolve));
    const facts = {
      os: 'ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\nPRETTY_NAME="Debian 12"\n',
      machine: `kernel 6.1.0\narch x86_64\nmachine-id of-${name}\nboot-id 4567\nsystemd systemd 252\nuser lab\nuid 1000\nmemory 9000000\ncpus 8\n`,
      gpus: 'gpu 0000:83:00.0 2335 nvidia\n',
      docker: 'active\n',
      'docker-info': '{"ServerVersion":"29.1.0"}\n',
      manager: 'current /opt/azp-fleet/versions/1\nActiveState=active\nUnitFileState=enabled\n',
      'manager-status': `present\n${JSON.stringify(status)}`,
    };
    const machine = await hostileHost({
      answer: (script) => framesSaid(script, facts),
      managerSocket: socket,
    });
    machines.push(machine);
    managers.push(manager);
    lines.push(`  ${name}: { address: 127.0.0.1, port: ${machine.port}, hostKeyPolicy: accept-new }\n`);
  }
  writeFileSync(
    join(cwd, 'lab.yaml'),
    `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
defaults: { user: lab, pool: p, sshConfig: none, loginPassword: { env: LOGIN } }
hosts:
${lines.join('')}`,
  );
});

afterAll(() => {
  vi.resetModules();
  for (const each of [...machines, ...managers]) each.close();
  rmSync(cwd, { recursive: true });
});

async function azpFleet(line: string) {
  const [command = '', after] = line.split(' -- ');
  const rest = after === undefined ? [] : ['--', after];
  const argv = [...command.split(' '), '-i', 'lab.yaml', '--yes', '--json', ...rest];
  const { stdout, stderr } = await runCommand(argv, { cwd, env: { LOGIN: 'a-login-password' } });
  const document = JSON.parse(stdout) as {
    exitCode: number;
    problems: { code: string; host?: string; what: string }[];
    hosts?: { host: string; problem?: unknown }[];
    plan?: { hosts: { host: string }[] };
  };
  return { ...document, stderr };
}

const mistake = {
  host: 'gpu-2',
  code: 'bug',
  what: expect.stringContaining('undefined is not what was meant') as string,
};

test.each([
  ['status', 'judge'],
  ['status', 'knownPools'],
  ['status', 'withPoolNames'],
  ['status', 'poolsInUse'],
  ['status', 'buildOptions'],
  ['status --drift', 'planHost'],
  ['status --drift', 'knownPools'],
  ['image which', 'imageRow'],
  ['plan', 'knownPools'],
  ['plan', 'laterPools'],
  ['plan', 'desiredNames'],
  ['plan', 'planHost'],
  ['plan', 'leftDrained'],
  ['plan', 'waveFleet'],
  ['plan', 'poolsInUse'],
  ['provision --dry-run', 'knownPools'],
  ['provision --dry-run', 'waveFleet'],
  ['reboot --dry-run', 'leftDrained'],
  ['reboot --dry-run', 'waveFleet'],
  ['exec --login -- true', 'buildOptions'],
  ['drain gpu-*', 'readStatus'],
  ['drain gpu-*', 'buildOptions'],
  ['undrain gpu-*', 'readStatus'],
  ['trust', 'buildOptions'],
  ['inventory show gpu-*', 'buildOptions'],
  ['ssh-config', 'buildOptions'],
])('%s, if %s throws', async (line, what) => {
  breaking.what = '';
  const correct = await azpFleet(line);
  breaking.what = what;
  const broken = await azpFleet(line);
  breaking.what = '';
  expect(correct.problems.filter(({ code }) => code === 'bug')).toEqual([]);
  expect(broken.problems).toContainEqual(expect.objectContaining(mistake));
  expect(broken.problems.filter(({ code, host }) => code === 'bug' && host !== 'gpu-2')).toEqual([]);
  const goodOf = ({ hosts, plan }: typeof correct) =>
    JSON.stringify(
      [hosts, plan?.hosts].map((all) =>
        all?.filter((each) => (each as { name?: string }).name === 'gpu-1' || each.host === 'gpu-1'),
      ),
    );
  const timeless = (text: string): string =>
    text.replaceAll(/\d{4}-\d\d-\d\dT[^"]+|"durationMs":\d+/g, 'then');
  expect(timeless(goodOf(broken))).toBe(timeless(goodOf(correct)));
});
