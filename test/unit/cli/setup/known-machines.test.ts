import { expect, test } from 'vitest';

import type { Settled } from '../../../../src/cli/setup/check-hosts.ts';
import { notInInventory } from '../../../../src/cli/setup/ask-hosts.ts';
import { desiredOf } from '../../../support/host.ts';
import { startWizard } from '../../../support/wizard-session.ts';

/** The answers of machines of the inventory by name; undefined: unreachable. */
type Machines = Readonly<Record<string, string | undefined>>;

function inventoryOf(machines: Machines) {
  const { host } = desiredOf();
  const asked: string[] = [];
  const session = (printed: string) => ({
    script: (text: string) => {
      expect(text).toContain('/etc/machine-id');
      return Promise.resolve({ code: 0, stdout: printed, stderr: '', durationMs: 1 });
    },
    close: () => Promise.resolve(),
  });
  const transport = {
    connect: ({ name }: { readonly name: string }) => {
      asked.push(name);
      const printed = machines[name];
      return printed === undefined
        ? Promise.reject(new Error('no route'))
        : Promise.resolve(session(printed));
    },
    close: () => Promise.resolve(),
  };
  return {
    asked,
    setup: startWizard({ openTransport: () => transport as never }),
    inventory: Object.keys(machines).map((name) => ({ ...host, name })),
  };
}

const says = (machineId: string, bootId: string): string =>
  `machine-id ${machineId}\nboot-id ${bootId}\n\nend\n`;
const fresh = (name: string, machineId: string, bootId = 'b'): Settled => ({
  host: { name },
  report: { name, machine: { machineId, bootId } },
});

async function left(machines: Machines, ...settled: readonly Settled[]) {
  const { setup, inventory, asked } = inventoryOf(machines);
  const kept = await notInInventory(setup.wizard, settled, inventory);
  return { names: kept.map(({ host }) => host.name), printed: setup.printed.join('\n'), asked };
}

test('a machine in the inventory under another name is reported and not added', async () => {
  const { names, printed } = await left(
    { old: says('1', 'b'), other: says('9', 'z') },
    fresh('new', '1'),
    fresh('good', '2'),
  );
  expect(names).toEqual(['good']);
  expect(printed.replaceAll(/\s+/g, ' ')).toBe(
    '! new is the same machine as old in the inventory: not added',
  );
});

test('a copy of its disk is added and reported with a fix', async () => {
  const { names, printed } = await left({ old: says('1', 'x') }, fresh('new', '1', 'y'));
  expect(names).toEqual(['new']);
  expect(printed).toContain('the same machine-id as old');
  expect(printed).toContain('systemd-machine-id-setup');
});

test('hosts that do not answer are reported and not compared', async () => {
  const { names, printed } = await left({ off: undefined, old: says('1', 'b') }, fresh('new', '2'));
  expect(names).toEqual(['new']);
  expect(printed.replaceAll(/\s+/g, ' ')).toBe(
    "! 1 of the inventory's hosts unreachable: not compared with the new hosts",
  );
});

test('a host without machine-id is no duplicate, and needs no comparison', async () => {
  const { names, asked } = await left({ old: says('', 'b') }, fresh('new', ''));
  expect(names).toEqual(['new']);
  expect(asked).toEqual([]);
});
