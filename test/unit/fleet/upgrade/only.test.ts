// An upgrade of one part changes that part, and what follows from it.
import { describe, expect, test } from 'vitest';

import { planHost } from '../../../../src/fleet/plan/plan.ts';
import { isManagerCurrent, stepsFor, withOthersKept } from '../../../../src/fleet/upgrade/only.ts';
import type { PartName } from '../../../../src/fleet/upgrade/parts.ts';
import { desiredOf, driven, factsOf } from '../../../support/host.ts';

/** Docker and toolkit are older than the defaults, and no repository is configured. */
const facts = factsOf({
  driver: driven,
  docker: {
    active: true,
    enabled: true,
    serverVersion: '28.5.2',
    runtimes: ['nvidia'],
    storageDriver: 'overlay2',
  },
  toolkit: { version: '1.19.1', cdiSpec: true, cdiDriver: '570.1', cdiUses: [] },
  packages: { 'docker-ce': '5:28.5.2-1', 'nvidia-container-toolkit': '1.19.1-1' },
});

function titles(parts: readonly PartName[], seen = facts, desired = desiredOf()): readonly string[] {
  const host = withOthersKept(desired.host, seen, parts);
  const { stages, refusals } = planHost(
    seen,
    { ...desired, host },
    { steps: stepsFor(parts, seen, false), disturbOthers: true },
  );
  expect(refusals).toEqual([]);
  return stages.flat().map(({ step, title }) => `${step}: ${title}`);
}

describe('the changes', () => {
  test('of a Docker upgrade: the engine, and nothing of the toolkit’s packages', () => {
    const found = titles(['docker']);
    expect(found).toContain('docker: upgrade Docker Engine 28.5.2 → 29.7.2');
    expect(found.filter((title) => title.includes('Toolkit 1.'))).toEqual([]);
    expect(found.filter((title) => title.startsWith('manager'))).toEqual([]);
  });

  test('of a toolkit upgrade: the toolkit, and nothing of the engine’s packages', () => {
    const found = titles(['toolkit']);
    expect(found).toContain('toolkit: upgrade NVIDIA Container Toolkit 1.19.1 → 1.20.0');
    expect(found.filter((title) => title.includes('Docker Engine 2'))).toEqual([]);
  });

  test('of a driver upgrade: the driver and the CDI specification, which names its libraries', () => {
    const older = factsOf({ ...facts, driver: { ...driven, loaded: '570.133.20', userspace: '570.133.20' } });
    const found = titles(['driver'], older);
    expect(found.some((title) => title.startsWith('driver: upgrade NVIDIA driver 570.133.20'))).toBe(true);
    expect(found).toContain('toolkit: write the CDI specification');
    expect(found.filter((title) => /Engine 2|Toolkit 1\.|manager/.test(title))).toEqual([]);
  });

  test('a toolkit that is missing is left to provision', () => {
    const without = factsOf({ ...facts, toolkit: { version: undefined }, packages: {} });
    expect(stepsFor(['driver'], without, false).map(({ name }) => name)).toEqual(['driver']);
  });
});

test('an engine whose images the newer one cannot read is refused', () => {
  const aufs = factsOf({
    ...facts,
    docker: { ...facts.docker, serverVersion: '23.0.6', storageDriver: 'aufs' },
  });
  const { refusals } = planHost(aufs, desiredOf(), {
    steps: stepsFor(['docker'], aufs, false),
    disturbOthers: true,
  });
  expect(refusals).toMatchObject([
    { step: 'docker', what: 'Docker stores its images with aufs, which Docker 24 and newer cannot read' },
  ]);
});

test('the manager follows a driver only where it was up to date', () => {
  const names = (isCurrent: boolean) => stepsFor(['driver'], facts, isCurrent).map(({ name }) => name);
  expect(names(true)).toEqual(['driver', 'toolkit', 'image', 'manager']);
  expect(names(false)).toEqual(['driver', 'toolkit']);
  expect(isManagerCurrent(facts, desiredOf())).toBe(false);
});

test('agent and manager are the steps of the manager', () => {
  for (const part of ['agent', 'manager'] as const)
    expect(stepsFor([part], facts, false).map(({ name }) => name)).toEqual(['image', 'manager']);
});
