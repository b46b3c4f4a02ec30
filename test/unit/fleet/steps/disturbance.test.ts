import { expect, test } from 'vitest';

import type { Disturbs } from '../../../../src/fleet/steps/change.ts';
import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { disturbsNode, reloadDisturbs, restartDisturbs } from '../../../../src/fleet/steps/disturbance.ts';
import { factsOf, merge } from '../../../support/host.ts';

/** A host with the hook for GPUs in containers, and systemd as cgroup driver. */
const byHook = factsOf({
  docker: { active: true, liveRestore: true, cgroupDriver: 'systemd', serverVersion: '24.0.9' },
  driver: { loaded: '580.95.05' },
  toolkit: { version: '1.20.0' },
});

test.each<[string, Facts, string, string]>([
  ['containers with GPUs by the hook', byHook, 'containers', 'new-containers'],
  [
    'an engine of unknown version',
    merge(byHook, { docker: { serverVersion: undefined } }),
    'containers',
    'new-containers',
  ],
  [
    'the last release with the hook',
    merge(byHook, { docker: { serverVersion: '29.1.9' } }),
    'containers',
    'new-containers',
  ],
  [
    'the first release with CDI',
    merge(byHook, { docker: { serverVersion: '29.2.0' } }),
    'nothing',
    'new-containers',
  ],
  [
    'cgroups that systemd does not manage',
    merge(byHook, { docker: { cgroupDriver: 'cgroupfs' } }),
    'nothing',
    'new-containers',
  ],
  ['no driver in the kernel', merge(byHook, { driver: { loaded: undefined } }), 'nothing', 'new-containers'],
  ['no toolkit', merge(byHook, { toolkit: { version: undefined } }), 'nothing', 'new-containers'],
  ['a stopped engine', merge(byHook, { docker: { active: false } }), 'nothing', 'new-containers'],
  ['no live-restore', merge(byHook, { docker: { liveRestore: false } }), 'containers', 'containers'],
  [
    'no live-restore on a stopped engine',
    merge(byHook, { docker: { active: false, liveRestore: false } }),
    'nothing',
    'new-containers',
  ],
])('%s: what a reload and a restart disturb', (_, facts, reload, restart) => {
  expect([reloadDisturbs(facts), restartDisturbs(facts)]).toEqual([reload, restart]);
});

test.each<[Disturbs, Disturbs]>([
  ['nothing', 'containers'],
  ['agents', 'containers'],
  ['containers', 'containers'],
  ['gpus', 'gpus'],
  ['machine', 'machine'],
])('a change that disturbs %s disturbs %s on the node of an orchestrator', (disturbs, onNode) => {
  const orchestrators = [{ name: 'Kubernetes' as const, units: [], running: true, work: [] }];
  expect(disturbsNode({ orchestrators }, disturbs)).toBe(onNode);
  expect(disturbsNode({ orchestrators: [] }, disturbs)).toBe(disturbs);
});
