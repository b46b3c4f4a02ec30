import { expect, test } from 'vitest';

import type { Settled } from '../../../../../src/cli/setup/check-hosts.ts';
import { notInInventory } from '../../../../../src/cli/setup/ask-hosts.ts';
import { desiredOf } from '../../../../support/host.ts';
import { sit } from '../../../../support/sitting.ts';

/** Machines of the inventory by name: what they say of themselves; undefined: nobody answers there. */
type Machines = Readonly<Record<string, string | undefined>>;

function inventoryOf(machines: Machines) {
  const { host } = desiredOf();
  const asked: string[] = [];
  const session = (said: string) => ({
    script: (text: string) => {
      expect(text).toContain('/etc/machine-id');
      return Promise.resolve({ code: 0, stdout: said, stderr: '', durationMs: 1 });
    },
    close: () => Promise.resolve(),
  });
  const transport = {
    connect: ({ name }: { readonly name: string }) => {
      asked.push(name);
      const said = machines[name];
      return said === undefined ? Promise.reject(new Error('no route')) : Promise.resolve(session(said));
    },
    close: () => Promise.resolve(),
  };
  return {
    asked,
    sitting: sit({ openTransport: () => transport as never }),
    inventory: Object.keys(machines).map((name) => ({ ...host, name })),
  };
}

const says = (machineId: string, bootId: string): string => `machine-id ${machineId}\nboot-id ${bootId}\n`;
const fresh = (name: string, machineId: string, bootId = 'b'): Settled => ({
  host: { name },
  report: { name, machine: { machineId, bootId } },
});

async function left(machines: Machines, ...settled: readonly Settled[]) {
  const { sitting, inventory, asked } = inventoryOf(machines);
  const kept = await notInInventory(sitting.wizard, settled, inventory);
  return { names: kept.map(({ host }) => host.name), said: sitting.said.join('\n'), asked };
}

test('a machine in the inventory under another name is reported and not added', async () => {
  const { names, said } = await left(
    { old: says('1', 'b'), other: says('9', 'z') },
    fresh('new', '1'),
    fresh('good', '2'),
  );
  expect(names).toEqual(['good']);
  expect(said.replaceAll(/\s+/g, ' ')).toBe('! new is the same machine as old in the inventory: not added');
});

test('a copy of its disk is added and reported with a fix', async () => {
  const { names, said } = await left({ old: says('1', 'x') }, fresh('new', '1', 'y'));
  expect(names).toEqual(['new']);
  expect(said).toContain('the same machine-id as old');
  expect(said).toContain('systemd-machine-id-setup');
});

test('hosts that do not answer are reported and not compared', async () => {
  const { names, said } = await left({ off: undefined, old: says('1', 'b') }, fresh('new', '2'));
  expect(names).toEqual(['new']);
  expect(said.replaceAll(/\s+/g, ' ')).toBe(
    "! 1 of the inventory's hosts unreachable: not compared with the new hosts",
  );
});

test('a host without machine-id is no duplicate, and needs no comparison', async () => {
  const { names, asked } = await left({ old: says('', 'b') }, fresh('new', ''));
  expect(names).toEqual(['new']);
  expect(asked).toEqual([]);
});
