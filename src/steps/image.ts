import { sh } from '../base/shell.ts';
import type { Facts } from '../facts/facts.ts';
import type { Action, Change } from './change.ts';
import { change, refusal } from './changes.ts';
import { agentArch } from './manager-config.ts';
import { isCurrent, managerVersion } from './manager-version.ts';
import type { Desired, Refusal, Step } from './step.ts';

/**
 * The agent image. The manager alone chooses, builds, pulls and pins it; what it needs from here is the build
 * context, and that what it will be told can work on this host.
 */
export const imageStep: Step = {
  name: 'image',
  *plan(facts, desired) {
    const refused = refuse(facts);
    if (refused !== undefined) yield refused;
    else if (desired.host.image === undefined) yield* uploadContext(facts, desired);
  },
};

function refuse(facts: Facts): Refusal | undefined {
  if (agentArch(facts.arch) !== undefined) return undefined;
  const next = 'take the host out of the inventory; x86_64 and aarch64 are supported';
  return refusal('image', `there is no Azure Pipelines agent for ${facts.arch}`, next);
}

function* uploadContext(facts: Facts, desired: Desired): Iterable<Change> {
  const runtime = desired.artifacts.runtime(facts.arch);
  if (runtime === undefined) return;
  const version = managerVersion(desired, runtime);
  if (isCurrent(version, facts.manager.current)) return;
  const target = `${version.directory}/dockeragent`;
  const folders = new Set(desired.artifacts.context.map(({ path }) => folderOf(`${target}/${path}`)));
  const actions: Action[] = [
    { kind: 'run', durable: false, timeoutS: 30, script: sh`umask 022; mkdir -p ${[...folders]}` },
    ...desired.artifacts.context.map(({ path, artifact }) => ({
      kind: 'upload' as const,
      artifact,
      path: `${target}/${path}`,
      mode: path.endsWith('.sh') ? 0o755 : 0o644,
    })),
  ];
  const title = `bring the build context of agent image ${desired.host.agent.version}`;
  const why = 'the host has no build context of this version';
  yield change('image', 'context', { title, why, disturbs: 'nothing' }, actions);
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}
