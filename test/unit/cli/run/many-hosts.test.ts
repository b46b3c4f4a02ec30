// Output of a run over three hundred hosts fits one terminal.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';

import { FleetError } from '../../../../src/shared/base/errors.ts';
import { Options } from '../../../../src/cli/options.ts';
import { carryOut } from '../../../../src/cli/run/own-plan.ts';
import { overSsh } from '../../../../src/cli/run/hosts.ts';
import { show } from '../../../../src/cli/result.ts';
import { jsonDocument } from '../../../../src/cli/render/envelope.ts';
import { withoutUnread } from '../../../../src/fleet/facts/unread.ts';
import type { Transport } from '../../../../src/fleet/ssh/transport.ts';
import { quietContext } from '../../../support/command.ts';
import { Keyboard } from '../../../support/keyboard.ts';
import { leftOnScreen } from '../../../support/screen.ts';
import { FakeHost } from '../../fleet/apply/fake-fleet.ts';
import { useFake } from '../../practice/azure/server.ts';
import { change } from '../../fleet/plan/changes.ts';

const fake = useFake();
const names = Array.from({ length: 300 }, (_, index) => `gpu-${String(index).padStart(3, '0')}`);
let machines: ReadonlyMap<string, FakeHost>;

beforeEach(() => {
  machines = new Map(names.map((name) => [name, new FakeHost([change('a')])]));
  const hosts = names.map((name) => `  ${name}: {}`).join('\n');
  writeFileSync(
    join(fake.folder, 'lab.yaml'),
    `organization: ${fake.server.organization}
token: { env: NONE }
defaults: { pool: gpu-lab }
hosts:
${hosts}
`,
  );
});

interface Run {
  readonly given?: Readonly<Record<string, unknown>>;
  readonly keyboard?: Keyboard;
  readonly heard?: (text: string) => void;
}

/** Installs `a` on each host. Hosts 7 to 9 are unreachable, and 20 to 39 have no free space. */
function install({ given = { yes: true }, keyboard, heard }: Run = {}) {
  const { context, written } = quietContext({
    cwd: fake.folder,
    terminal: true,
    ...(keyboard === undefined ? {} : { stdin: Object.assign(keyboard.stdin, { isTTY: true }) }),
    ...(heard === undefined ? {} : { heard }),
  });
  const machineOf = (name: string): FakeHost => machines.get(name) ?? new FakeHost([]);
  for (const name of names.slice(20, 40)) machineOf(name).onRun = () => ({ code: 1, tail: 'no free space' });
  const connect = (): Transport => ({
    close: () => Promise.resolve(),
    connect: async (target) => {
      const index = names.indexOf(target.name);
      if (index >= 7 && index <= 9)
        throw new FleetError({
          code: 'ssh.timeout',
          step: 'connect',
          what: `192.0.2.${index}:22 does not answer`,
          next: `ping -c 3 192.0.2.${index}`,
        });
      return machineOf(target.name).tools().transport.connect(target);
    },
  });
  const result = carryOut(
    context,
    {
      positionals: [],
      rest: [],
      options: new Options(given),
      inventory: 'lab.yaml',
      commandLine: 'azp-fleet install',
      commands: [],
    },
    {
      command: 'reboot',
      question: (where) => `Install it on ${where}?`,
      unasked: 'run again with --yes',
      changes: (now) => (withoutUnread(now).packages['a'] === undefined ? [change('a')] : []),
    },
    {
      wiring: { ...overSsh, connect },
      gather: (_session, { name }) => Promise.resolve(machineOf(name).facts),
    },
  );
  return { context, written, result };
}

describe('three hundred hosts', () => {
  test('plan, progress, problems and outcome fit one screen', async () => {
    const { context, written, result } = install();
    show(context, await result);
    const left = [...leftOnScreen(written.stderr), ...leftOnScreen(written.stdout)];
    expect(left.length).toBeLessThanOrEqual(context.stdout.rows ?? 0);
    expect(Math.max(...left.map((line) => line.length))).toBeLessThanOrEqual(context.stdout.columns ?? 0);
    expect(leftOnScreen(written.stdout).join('\n')).toBe(`297 hosts: the same 1 change (gpu-[000-006,010-299])
  + docker   do a
             a is missing

Changes: 297 on 297 hosts, 3 hosts unreachable.


gpu-[000-006,010-019,040-299]  changed      1 change
gpu-[020-039]                  failed       "do a" failed with exit code 1
gpu-[007-009]                  unreachable  {address}:22 does not answer

300 hosts: 277 changed, 20 failed, 3 unreachable
`);
    expect(leftOnScreen(written.stderr).join('\n'))
      .toBe(`✗ gpu-007 · connect: 192.0.2.7:22 does not answer [ssh.timeout]
  next      ping -c 3 192.0.2.7
✗ gpu-008, gpu-009 · connect: {address}:22 does not answer [ssh.timeout]
  next      ping -c 3 {address}
✗ gpu-020 · docker: "do a" failed with exit code 1 [change.failed]
  seen      no free space
  next      fix the cause and run the same command again: it continues
✗ gpu-[021-039] · docker: "do a" failed with exit code 1 [change.failed]
  seen      no free space
  next      fix the cause and run the same command again: it continues
`);
  });

  test('are named in the question', async () => {
    const keyboard = new Keyboard();
    let drawn = '';
    const { result } = install({ given: {}, keyboard, heard: (text) => (drawn += text) });
    await expect.poll(() => drawn).toContain('Install it on gpu-[000-006,010-299]?');
    keyboard.stdin.write('n\r');
    expect(await result).toMatchObject({ exitCode: 4 });
  });

  test('are listed one by one in the document', async () => {
    const { context, result } = install({ given: { yes: true, json: true } });
    const { exitCode, problems = [], json } = await result;
    const parts = { command: 'install', exitCode, problems, log: undefined };
    const document = [...jsonDocument(context.clock, parts, json)].join('');
    const { hosts } = JSON.parse(document) as { hosts: readonly { host: string; state: string }[] };
    expect(hosts.map(({ host }) => host).toSorted()).toEqual(names);
    expect(problems).toHaveLength(23);
  });
});
