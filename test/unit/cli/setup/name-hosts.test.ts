import { expect, test } from 'vitest';

import type { Settled } from '../../../../src/cli/setup/check-hosts.ts';
import { nameHosts, withoutDuplicates } from '../../../../src/cli/setup/ask-hosts.ts';
import { answering, startWizard } from '../../../support/wizard-session.ts';

function settled(name: string, machineId: string, bootId: string, hostname?: string): Settled {
  const machine = { machineId, bootId };
  return { host: { name }, report: { name, machine, hostname } };
}

const names = (hosts: readonly Settled[]) => hosts.map(({ host }) => host.name);

test('a duplicate machine is removed and reported', () => {
  const { wizard, printed } = startWizard();
  expect(
    names(
      withoutDuplicates(wizard, [settled('a', '1', 'x'), settled('b', '2', 'y'), settled('c', '1', 'x')]),
    ),
  ).toEqual(['a', 'b']);
  expect(printed.join(' ')).toContain('! c is the same machine as a: only a');
});

test('copies of one disk are kept and reported with a fix', () => {
  const { wizard, printed } = startWizard();
  expect(names(withoutDuplicates(wizard, [settled('a', '1', 'x'), settled('b', '1', 'y')]))).toEqual([
    'a',
    'b',
  ]);
  expect(printed.join(' ')).toContain('systemd-machine-id-setup');
});

test('a host without machine-id is no duplicate', () => {
  const { wizard } = startWizard();
  expect(names(withoutDuplicates(wizard, [settled('a', '', 'x'), settled('b', '', 'x')]))).toEqual([
    'a',
    'b',
  ]);
});

test('a host named by its address is offered its hostname, if that is free', async () => {
  const setup = startWizard();
  const hosts = [
    settled('gpu-1', '1', 'x', 'other'),
    settled('192.0.2.7', '2', 'y', 'h200-7'),
    settled('192.0.2.8', '3', 'z', 'gpu-1'),
  ];
  const named = answering(
    setup,
    () => nameHosts(setup.wizard, hosts, []),
    ['The hostname of 192.0.2.7 is h200-7'],
    ['The hostname of 192.0.2.8 is gpu-1'],
  );
  expect((await named).map(({ host }) => host)).toEqual([
    { name: 'gpu-1' },
    { name: 'h200-7', address: '192.0.2.7' },
    { name: '192.0.2.8' },
  ]);
});

test('a name that another host has is refused, whatever its case', async () => {
  const setup = startWizard();
  const hosts = [settled('gpu-1', '1', 'x', 'other'), settled('192.0.2.7', '2', 'y', 'h200-7')];
  const refused: (string | undefined)[] = [];
  const { prompts } = setup.wizard;
  const wizard = {
    ...setup.wizard,
    prompts: {
      text: async (
        _key: string,
        _question: string,
        { check }: { check?: (text: string) => string | undefined },
      ) => {
        for (const text of ['gpu-1', 'GPU-1', 'taken-1', 'h200-7']) refused.push(check?.(text));
        return 'h200-7';
      },
    } as unknown as typeof prompts,
  };
  const named = await nameHosts(wizard, hosts, ['taken-1']);
  expect(refused).toEqual(['Name already in use', 'Name already in use', 'Name already in use', undefined]);
  expect(names(named)).toEqual(['gpu-1', 'h200-7']);
});
