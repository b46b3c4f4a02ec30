import { HostPaths } from '../../../shared/contract/paths.ts';
import type { Facts } from '../../facts/facts.ts';
import type { Change, Detail } from '../change.ts';
import { details, isDowngrade, item } from '../description.ts';
import { installScript } from '../manager-scripts.ts';
import { isCurrent, type ManagerVersion } from '../manager-version.ts';
import type { Desired } from '../step.ts';
import { quiet, upload } from './parts.ts';

/** The manager's bundle and its runtime; an older one than the host has is called that. */
export function* program(facts: Facts, desired: Desired, version: ManagerVersion): Iterable<Change> {
  if (isCurrent(version, facts.manager.current)) return;
  const { current, release } = facts.manager;
  const { artifacts } = desired;
  const older = isDowngrade(release?.version, desired.version);
  const words = `the manager ${desired.version} (${version.id}) with Node ${artifacts.nodeVersion}`;
  const description = {
    title: older ? `downgrade to ${words}` : `install ${words}`,
    why: current === undefined ? 'not installed' : `installed is ${current}`,
  };
  const actions = [
    {
      kind: 'run' as const,
      durable: false,
      timeoutS: 30,
      script: installScript(version),
      writes: [HostPaths.opt, HostPaths.etc, HostPaths.state],
    },
    upload(version.runtime, `${version.runtimeDirectory}/node`, 0o755),
    upload(artifacts.manager, `${version.directory}/manager.mjs`, 0o644),
  ];
  yield current === undefined
    ? quiet('install', description, actions)
    : quiet('install', { ...description, marker: 'change', details: versions(facts, desired) }, actions);
}

/** As far as the manager that runs tells them. */
function versions(
  { manager: { release, status } }: Facts,
  { version, artifacts }: Desired,
): readonly Detail[] {
  const pairs = [
    ['manager', release?.version, version],
    ['Node', status?.node, artifacts.nodeVersion],
  ] as const;
  return details(
    pairs.flatMap(([name, from, to]) =>
      from === undefined ? [] : item(name, from, to, isDowngrade(from, to) ? 'a downgrade' : undefined),
    ),
  );
}
