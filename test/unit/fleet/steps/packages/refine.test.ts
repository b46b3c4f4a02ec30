import { describe, expect, it } from 'vitest';

import type { Facts } from '../../../../../src/fleet/facts/facts.ts';
import type { Answer } from '../../../../../src/fleet/packages/simulation.ts';
import type { Change, Detail, Refusal, Shape } from '../../../../../src/fleet/steps/change.ts';
import {
  isPackageChange,
  refinePackages,
  simulationOf,
} from '../../../../../src/fleet/steps/packages/refine.ts';
import type { Desired, Planned } from '../../../../../src/fleet/steps/step.ts';
import { desiredOf, factsOf } from '../../../../support/host.ts';
import { afterwards, lines, plan } from '../host-stack-plan.ts';

const defaults = desiredOf();
const ready = afterwards(factsOf(), defaults);
const none = { removes: [], installs: [], upgrades: [], downgrades: [], kept: [] } as const;

function refined(facts: Facts, desired: Desired, answer: Answer, final = false): (Planned | Refusal)[] {
  const found = plan(facts, desired);
  const [pending] = found.filter(isPackageChange);
  return refinePackages(found, { answers: pending === undefined ? {} : { [pending.id]: answer }, final });
}

const only = (items: readonly (Planned | Refusal)[]): Change | Shape => {
  const [first] = items;
  if (first === undefined || 'refused' in first) throw new Error('a change was expected');
  return first;
};
const shown = ({ details = [] }: Change | Shape): string[] =>
  details.map(({ marker, text, effect }: Detail) =>
    [
      { add: '+', change: '~', remove: '-' }[marker],
      text,
      ...(effect === undefined ? [] : [`(${effect})`]),
    ].join(' '),
  );

const newer = factsOf({
  ...ready,
  driver: { ...ready.driver, loaded: '595.71.05', userspace: '595.71.05' },
  packages: { ...ready.packages, 'nvidia-driver-cuda': '595.71.05-1' },
});
const withDebianDocker = factsOf({
  ...ready,
  packages: {
    ...Object.fromEntries(Object.entries(ready.packages).filter(([name]) => !name.startsWith('docker-ce'))),
    'docker.io': '20.10.24+dfsg1-1',
  },
});

describe('the answer of the package manager', () => {
  it('is listed by name, removals first', () => {
    const change = only(
      refined(withDebianDocker, defaults, {
        kind: 'value',
        value: {
          version: '29.7.2',
          removes: [
            { name: 'docker.io', from: '20.10.24+dfsg1-1' },
            { name: 'tool-of-docker', from: '43.0-3' },
          ],
          downgrades: ['libold', 'libtool'].map((name) => ({ name, from: '2.0-1', to: '1.0-1' })),
          upgrades: [
            { name: 'libc6', from: '2.36-9+deb12u1', to: '2.36-9+deb12u2' },
            { name: 'runc', from: '1.1-1', to: '1.2-1' },
          ],
          installs: ['docker-ce', 'a', 'b', 'c', 'd', 'e'].map((name) => ({ name, to: '1-1' })),
          kept: ['tree'],
        },
      }),
    );
    expect(shown(change)).toEqual([
      '- docker.io 20.10.24+dfsg1',
      '- tool-of-docker 43.0',
      '~ downgrade libold, libtool 2.0 → 1.0',
      '~ upgrade libc6 2.36-9+deb12u1 → 2.36-9+deb12u2',
      '~ upgrade runc 1.1 → 1.2',
      '~ kept back: tree',
      '+ docker-ce 1, a 1, b 1, c 1, 2 more',
    ]);
    expect(change).toMatchObject({
      title: 'change to Docker Engine 29.7.2',
      marker: 'change',
      bound: { removes: ['docker.io', 'tool-of-docker'], downgrades: ['libold', 'libtool'] },
    });
  });

  it('is a refusal by name if a desktop would lose packages', () => {
    const removes = [{ name: 'gdm3', from: '43.0-3' }, { name: 'libnvidia-gl-570:i386' }, { name: 'old' }];
    const [refused] = refined(withDebianDocker, defaults, { kind: 'value', value: { ...none, removes } });
    expect(refused).toMatchObject({
      what: "Docker Engine 29.7.2 would remove gdm3 from this host's desktop",
      next: 'sudo apt-get remove gdm3 if this host needs no desktop, or remove this host from the inventory',
    });
  });

  it('limits the script, and is part of the id', () => {
    const script = (items: readonly (Planned | Refusal)[]): string => {
      const change = only(items);
      const [action] = change.kind === 'change' ? change.actions : [];
      return action?.kind === 'run' ? action.script : '';
    };
    const quiet = refined(withDebianDocker, defaults, { kind: 'value', value: { ...none } });
    const harmful = refined(withDebianDocker, defaults, {
      kind: 'value',
      value: {
        ...none,
        removes: [{ name: 'tool-of-docker', from: '43' }],
      },
    });
    expect(script(harmful)).toContain('removals | unforeseen tool-of-docker');
    expect(script(quiet)).not.toContain('tool-of-docker');
    expect([only(quiet), only(harmful)].map((change) => change.kind === 'change' && change.id)).toEqual([
      expect.stringMatching(/^docker-install-/),
      expect.stringMatching(/^docker-install-/),
    ]);
    expect(
      new Set([only(quiet), only(harmful)].map((change) => change.kind === 'change' && change.id)).size,
    ).toBe(2);
  });

  it.each([
    ['downgrade NVIDIA driver 595.71.05 → 580.95.05 (open kernel modules)', newer, desiredOf(), '580.95.05'],
    [
      'upgrade NVIDIA driver 580.95.05 → 595.71.05 (open kernel modules)',
      ready,
      desiredOf({ driver: { branch: '595' } }),
      '595.71.05',
    ],
    [
      'downgrade Docker Engine 29.7.2 → 28.5.2',
      ready,
      desiredOf({ docker: { version: '28.5.2' } }),
      '28.5.2',
    ],
    [
      'upgrade NVIDIA Container Toolkit 1.20.0 → 1.21.0',
      ready,
      desiredOf({ toolkit: { version: '1.21.0' } }),
      '1.21.0',
    ],
  ])('%s', (title, facts, desired, version) => {
    expect(only(refined(facts, desired, { kind: 'value', value: { ...none, version } }))).toMatchObject({
      title,
      marker: 'change',
    });
  });

  it('is not needed to plan a downgrade', () => {
    expect(lines(plan(newer, defaults))[0]).toBe(
      'downgrade NVIDIA driver 595.71.05 → 580 (open kernel modules) [machine]',
    );
  });

  it.each<[string, Desired, Answer, Partial<Refusal>]>([
    [
      'a branch',
      desiredOf({ driver: { branch: '581' } }),
      { kind: 'not-offered', offered: ['595.71.05', '580.95.05', '580.82.07', '570.86.10'] },
      {
        what: 'driver 581 is not in the repositories; they have 595, 580, 570',
        next: 'set driver.branch to one of these, or complete the mirror',
      },
    ],
    [
      'a version',
      desiredOf({ driver: { version: '580.1.2' } }),
      { kind: 'not-offered', offered: Array.from({ length: 9 }, (_, at) => `580.9${at}`) },
      {
        what: 'driver 580.1.2 is not in the repositories; they have 580.90, 580.91, 580.92, 580.93, 580.94, 580.95, 580.96, 580.97, …',
        next: 'set driver.version to one of these, or complete the mirror',
      },
    ],
    [
      'any version',
      defaults,
      { kind: 'not-offered', offered: [] },
      { what: 'driver 580 is not in the repositories; they have none' },
    ],
    [
      'a solution',
      defaults,
      { kind: 'impossible', what: 'tool-of-docker is held', next: 'unhold it' },
      { what: 'tool-of-docker is held', next: 'unhold it' },
    ],
    [
      'a reasonable number of removals',
      defaults,
      {
        kind: 'value',
        value: {
          ...none,
          removes: Array.from({ length: 201 }, (_, at) => ({ name: `p${at}`, from: '1' })),
        },
      },
      { what: 'NVIDIA driver would remove 201 packages and downgrade 0' },
    ],
  ])('is a refusal without %s, and the rest of the step is left out', (_, desired, answer, refusal) => {
    const items = refined(factsOf(), desired, answer).filter(({ step }) => step === 'driver');
    expect(items).toEqual([expect.objectContaining({ refused: true, ...refusal })]);
  });
});

describe('changes without a simulation', () => {
  const silent: Answer = { kind: 'unknown', why: 'connection refused' };

  it('are a shape with the changes that facts show', () => {
    const shape = only(refined(withDebianDocker, defaults, silent));
    expect(shape).toMatchObject({
      kind: 'shape',
      step: 'docker',
      title: 'change to Docker Engine 29.7.2',
      why: 'package simulation failed on the host: connection refused; provision stops if it would remove anything else',
      bound: { removes: ['docker.io'], downgrades: [] },
    });
    expect(shown(shape)).toEqual(['- docker.io']);
  });

  it('announce a downgrade', () => {
    expect(only(refined(newer, defaults, silent)).bound?.downgrades).toContain('nvidia-driver-cuda');
  });

  it('run with that limit in the final plan', () => {
    expect(only(refined(withDebianDocker, defaults, silent, true))).toMatchObject({
      kind: 'change',
      bound: { removes: ['docker.io'], downgrades: [] },
    });
  });

  it('are simulated again; known ones are not', () => {
    const found = plan(withDebianDocker, defaults);
    const [pending] = found.filter(isPackageChange);
    const id = pending?.id ?? '';
    expect(simulationOf(found, withDebianDocker, defaults, { [id]: silent })).toBeDefined();
    expect(
      simulationOf(found, withDebianDocker, defaults, { [id]: { kind: 'value', value: { ...none } } }),
    ).toBeUndefined();
  });
});

describe('the question', () => {
  it('is none if no package change is pending', () => {
    expect(simulationOf(plan(ready, defaults), ready, defaults, {})).toBeUndefined();
    const loose = { ...ready, held: [] };
    expect(plan(loose, defaults)).not.toEqual([]);
    expect(simulationOf(plan(loose, defaults), loose, defaults, {})).toBeUndefined();
  });

  it('is one for all of them, with sources that the plan adds', () => {
    const { script = '' } = simulationOf(plan(factsOf(), defaults), factsOf(), defaults, {}) ?? {};
    for (const step of ['driver', 'docker', 'toolkit'])
      expect(script).toMatch(new RegExp(`^begin ${step}-install-`, 'm'));
    expect(script).toContain('URIs: https://download.docker.com/linux/debian');
    const { script: later = '' } =
      simulationOf(plan(withDebianDocker, defaults), withDebianDocker, defaults, {}) ?? {};
    expect(later).not.toContain('URIs: https:');
  });

  it("trusts the site's authority if the host does not yet", () => {
    const site = desiredOf({}, { proxy: { noProxy: [], caPem: 'PEM' } });
    expect(simulationOf(plan(factsOf(), site), factsOf(), site, {})?.script).toContain("printf '%s\\n' PEM");
    const trusting = afterwards(factsOf(), site);
    const again = desiredOf({ docker: { version: '29.8.0' } }, { proxy: { noProxy: [], caPem: 'PEM' } });
    expect(simulationOf(plan(trusting, again), trusting, again, {})?.script).not.toContain('PEM');
  });
});
