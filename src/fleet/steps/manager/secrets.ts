import { sh } from '../../../shared/base/shell.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import type { Facts } from '../../facts/facts.ts';
import type { Change, Marker } from '../change.ts';
import type { Desired } from '../step.ts';
import { nextToken, quiet } from './parts.ts';

/** The files that only root may read. What they hold is in no plan: a host tells digests, salted with its machine-id. */
export function* secrets(facts: Facts, desired: Desired): Iterable<Change> {
  yield* credential(facts, desired);
  yield* registries(facts, desired);
  yield* webhook(facts, desired);
}

function* credential(facts: Facts, { credentialDigest }: Desired): Iterable<Change> {
  const wanted = credentialDigest?.(facts.machineId);
  const seen = facts.manager.credentialDigest;
  if (wanted === undefined || wanted === seen) return;
  const why = seen === undefined ? 'the host has none' : 'the host has another one';
  const words = { title: 'store the credential (root only)', why, marker: addOrChange(seen) };
  yield quiet('credential', words, [{ kind: 'credential', path: nextToken }]);
}

/** In place at once: the manager reads the file at each pull and build. */
function* registries(facts: Facts, { registries: { names, digest } }: Desired): Iterable<Change> {
  const seen = facts.manager.registriesDigest;
  if (names.length === 0) {
    if (seen !== undefined)
      yield removal('registries', 'remove the passwords of registries', HostPaths.registries);
    return;
  }
  if (digest === undefined || digest(facts.machineId) === seen) return;
  const title = `store the passwords of registries (root only): ${names.join(', ')}`;
  const why = seen === undefined ? 'the host has none' : 'the host has others';
  yield quiet('registries', { title, why, marker: addOrChange(seen) }, [
    { kind: 'registries', path: HostPaths.registries },
  ]);
}

/** In place at once, likewise. */
function* webhook(facts: Facts, { host, webhookDigest }: Desired): Iterable<Change> {
  const seen = facts.manager.webhookDigest;
  if (host.webhook === undefined) {
    if (seen !== undefined) yield removal('webhook', 'remove the address of the webhook', HostPaths.webhook);
    return;
  }
  if (webhookDigest === undefined || webhookDigest(facts.machineId) === seen) return;
  const title = 'store the address of the webhook (root only)';
  const why = seen === undefined ? 'the host has none' : 'the host has another one';
  yield quiet('webhook', { title, why, marker: addOrChange(seen) }, [
    { kind: 'webhook', path: HostPaths.webhook },
  ]);
}

function removal(name: string, title: string, path: string): Change {
  return quiet(name, { title, why: 'the inventory has none', marker: 'remove' }, [
    { kind: 'run', durable: false, timeoutS: 30, script: sh`rm -f ${path}`, writes: [path] },
  ]);
}

function addOrChange(seen: string | undefined): Marker {
  return seen === undefined ? 'add' : 'change';
}
