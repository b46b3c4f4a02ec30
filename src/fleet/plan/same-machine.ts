import type { Problem } from '../../shared/base/errors.ts';
import type { Facts } from '../facts/facts.ts';
import { namesInShort } from '../inventory/fold-names.ts';

/** A host and the identity of its machine. */
interface Seen {
  readonly host: { readonly name: string };
  readonly facts: Pick<Facts, 'machineId' | 'bootId'>;
}

/**
 * Returns the problems of hosts with the same machine-id (machine-id(5)), by name. With the same boot_id, which is new at each boot of
 * each kernel, they are the same machine; otherwise one is a copy of the other's disk. Hosts without a machine-id are left out. Pure.
 */
export function sameMachines(hosts: readonly Seen[]): ReadonlyMap<string, Problem> {
  const known = hosts.filter(({ facts }) => facts.machineId !== '');
  const groups = [...Map.groupBy(known, ({ facts }) => facts.machineId).values()];
  return new Map(groups.filter(({ length }) => length > 1).flatMap(problemsOf));
}

function problemsOf(alike: readonly Seen[]): readonly (readonly [string, Problem])[] {
  return alike.map(({ host: { name }, facts }) => {
    const others = alike.filter((each) => each.host.name !== name);
    const same = others.filter((each) => each.facts.bootId === facts.bootId);
    return [name, same.length > 0 ? oneMachine(same) : copies(others)];
  });
}

function oneMachine(others: readonly Seen[]): Problem {
  return {
    code: 'host.same-machine',
    step: 'facts',
    what: `it is the same machine as ${names(others)}`,
    expected: 'one name for each machine; a machine runs one manager',
    next: 'remove one of the names from the inventory; for two pools on one host, use its agents: list',
  };
}

function copies(others: readonly Seen[]): Problem {
  return {
    code: 'host.same-machine',
    step: 'facts',
    what: `it has the same machine-id as ${names(others)}, like a copy of its disk`,
    expected: 'a separate machine-id, which identifies the owner of its agents',
    next: 'create one, and reboot it: rm /etc/machine-id /var/lib/dbus/machine-id; systemd-machine-id-setup',
  };
}

function names(hosts: readonly Seen[]): string {
  return namesInShort(hosts.map(({ host }) => host.name));
}
