import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { type Platform, platformOf } from '../../../../src/fleet/packages/distribution.ts';
import { systems } from '../../../../src/fleet/packages/systems.ts';
import type { Answer } from '../../../../src/fleet/packages/simulation.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, factsOf, merge } from '../../../support/host.ts';
import { bareOf } from './enterprise-cases.ts';
import { afterwards } from './host-stack-plan.ts';
import { driverWithNouveau } from './host-stack-lines.ts';

/** States of a host before the first run; each is tested on every supported system. */
export const histories = [
  'fresh',
  'current',
  'older',
  'newer',
  'held',
  'conflicting',
  'half-installed',
  'desktop',
  'display card',
] as const;
type History = (typeof histories)[number];

/** A host of one system with one history. */
export interface MatrixCase {
  readonly system: string;
  readonly history: History;
  readonly facts: Facts;
  readonly desired: Desired;
  /** The package manager's answer to every simulation; undefined: only the planned changes. */
  readonly answer?: Answer;
  /** Lines of the plan that are specific to this history. */
  readonly says: readonly string[];
  /** Text in the refusal. */
  readonly refused?: string;
}

/** Impossible combinations, with the reason. */
export const cannotBe: Readonly<Record<string, string>> = {
  'amzn 2023, conflicting': 'its own Docker Engine is the desired one',
};

const defaults = desiredOf();
const spec = { install: true, branch: '580', flavor: 'auto', method: 'repo' } as const;

/** Returns a release of the row as hosts report it: 9.5 for `9`. */
const releaseOf = ({ id, versionId }: { readonly id: string; readonly versionId: string }): string =>
  /^\d+$/.test(versionId) && !['debian', 'amzn'].includes(id) ? `${versionId}.5` : versionId;

function bareHost({ id, versionId, packages }: (typeof systems)[number]): Facts {
  const release = releaseOf({ id, versionId });
  if (packages.name === 'apt')
    return factsOf({ os: { id, idLike: [], versionId, codename: '', pretty: `${id} ${versionId}` } });
  return bareOf(id, release);
}

type Case = Pick<MatrixCase, 'facts' | 'says'> & Partial<Pick<MatrixCase, 'answer' | 'refused' | 'desired'>>;

const changed = (verb: string): string[] => [
  `${verb} → 580 (open kernel modules) [machine]`,
  'reboot the host [machine]',
];
const removal = (name: string): Answer => ({
  kind: 'value',
  value: {
    removes: [{ name, from: '1' }],
    installs: [],
    upgrades: [],
    downgrades: [],
    kept: [],
  },
});

const casesBy: Readonly<Record<History, (bare: Facts, platform: Platform) => Case>> = {
  fresh: (facts) => ({
    facts,
    says: ['install NVIDIA driver 580 (open kernel modules, compute only) [nothing]'],
  }),
  current: (bare) => ({ facts: afterwards(bare, defaults), says: [] }),
  older: (bare, platform) => ({
    facts: withBranch(afterwards(bare, defaults), platform, '570.86.10'),
    says: changed('upgrade NVIDIA driver 570.86.10'),
  }),
  newer: (bare, platform) => ({
    facts: withBranch(afterwards(bare, defaults), platform, '595.71.05'),
    says: changed('downgrade NVIDIA driver 595.71.05'),
  }),
  held: (bare) => ({
    facts: bare,
    says: [],
    answer: {
      kind: 'impossible',
      what: 'dkms would have to change, and is held on this host',
      next: 'unhold it',
    },
    refused: 'dkms would have to change, and is held on this host',
  }),
  conflicting: (bare, { names }) => ({
    facts: merge(bare, { packages: Object.fromEntries(names.engine.conflicts.map((name) => [name, '1'])) }),
    says: ['change to Docker Engine 29.7.2 [nothing]'],
  }),
  'half-installed': (bare, { names }) => {
    const ready = afterwards(bare, defaults);
    const modules = names.driver.packages(spec, 'open', 0).at(-1) ?? '';
    const { [modules]: _, ...packages } = ready.packages;
    return {
      facts: { ...ready, packages, driver: { ...ready.driver, loaded: undefined, open: undefined } },
      says: ['change to NVIDIA driver 580 (open kernel modules) [nothing]'],
    };
  },
  desktop: (bare, { names }) => {
    const [screen = ''] = names.desktop.own;
    return {
      facts: merge(bare, { packages: { [screen]: '1' } }),
      says: [],
      answer: removal(screen),
      refused: screen,
    };
  },
  // nouveau is loaded for the card.
  'display card': (bare) => ({
    facts: merge(bare, {
      driver: { nouveau: true },
      ignoredGpus: [{ address: '0000:02:00.0', deviceId: '128b', boundTo: 'nouveau' }],
    }),
    says: driverWithNouveau,
  }),
};

/** Returns the host with a driver of another branch and that branch's package names. */
function withBranch(ready: Facts, { names }: Platform, version: string): Facts {
  const ours = new Set(names.driver.packages(spec, 'open', 0));
  const [branch = ''] = version.split('.');
  const kept = Object.entries(ready.packages).filter(([name]) => !ours.has(name));
  const others = names.driver.packages({ ...spec, branch }, 'open', 0).map((name) => [name, `${version}-1`]);
  return {
    ...ready,
    packages: Object.fromEntries([...kept, ...others]) as Facts['packages'],
    driver: { ...ready.driver, loaded: version, userspace: version },
  };
}

export const matrix: readonly MatrixCase[] = systems.flatMap((row) => {
  const bare = bareHost(row);
  const platform = platformOf(bare);
  if (platform === undefined) throw new Error(`${row.id} ${row.versionId} is in the table and not supported`);
  return histories.flatMap((history) => {
    const system = `${row.id} ${row.versionId}`;
    if (`${system}, ${history}` in cannotBe) return [];
    return [{ system, history, desired: defaults, ...casesBy[history](bare, platform) }];
  });
});
