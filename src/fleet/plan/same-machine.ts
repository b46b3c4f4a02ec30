import type { Problem } from '../../shared/base/errors.ts';
import type { Facts } from '../facts/facts.ts';
import { namesInShort } from '../inventory/fold-names.ts';

/** A host and what tells its machine from others. */
interface Seen {
  readonly host: { readonly name: string };
  readonly facts: Pick<Facts, 'machineId' | 'bootId'>;
}

/**
 * Why hosts cannot be told apart, by their names: those whose machine says the same machine-id (machine-id(5)) as
 * another's. One that has also been booted together with it is the same machine (boot_id is made anew at each boot, of
 * each kernel); one that has not is a copy of its disk. Hosts that say none are nobody's. Pure.
 */
export function sameMachines(hosts: readonly Seen[]): ReadonlyMap<string, Problem> {
  const told = hosts.filter(({ facts }) => facts.machineId !== '');
  const groups = [...Map.groupBy(told, ({ facts }) => facts.machineId).values()];
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
    expected: 'one name for each machine: two managers cannot run on one',
    next: 'take one of the names out of the inventory; two pools on one host are a matter of its agents: list',
  };
}

function copies(others: readonly Seen[]): Problem {
  return {
    code: 'host.same-machine',
    step: 'facts',
    what: `it has the same machine-id as ${names(others)}, as copies of one disk have`,
    expected: 'a machine-id of its own: by it azp-fleet knows whose agents are whose',
    next: 'give it one, and reboot it: rm /etc/machine-id /var/lib/dbus/machine-id; systemd-machine-id-setup',
  };
}

function names(hosts: readonly Seen[]): string {
  return namesInShort(hosts.map(({ host }) => host.name));
}
