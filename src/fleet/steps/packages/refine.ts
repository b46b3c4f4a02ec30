import type { Facts } from '../../facts/facts.ts';
import { glob } from '../../inventory/glob.ts';
import type { Platform } from '../../packages/distribution.ts';
import {
  type Answer,
  type Answers,
  type Asked,
  type Bound,
  type Effects,
  type Moved,
  vendorsOf,
} from '../../packages/simulation.ts';
import { upstream } from '../../packages/version.ts';
import { type Detail, later, type Refusal, refusal, type Shape } from '../change.ts';
import { boundChange, isDowngrade, type PackageChange, type Pending } from './change.ts';
import { type Disks, needsOf, DiskSpace, uploadNeeds } from './disk-space.ts';
import { sourceIsThere } from './repositories.ts';
import { lacksSiteCa } from '../site-ca.ts';
import type { Desired, Planned } from '../step.ts';
import { defined } from '../../../shared/base/objects.ts';

type Found = Planned | Refusal;

/** Answers of package managers, by the id of the simulated change. */
export interface Simulated {
  readonly answers: Answers;
  /** No further simulation is possible: unknown changes run within their announced bound. */
  readonly final: boolean;
}

/**
 * Refines package changes by their simulation, and refuses changes that need more than the free disk space. `simulated`
 * undefined: no simulation. `disks` undefined: enough space. Pure.
 */
export function refinePackages(
  found: readonly Found[],
  simulated?: Simulated,
  disks: Disks = { disk: {}, initramfsBytes: 0, arrived: {} },
): Found[] {
  const space = new DiskSpace(disks);
  const refined = found.map((item) => {
    if (isPackageChange(item)) return spaceObstacle(item, simulated, space, disks) ?? refine(item, simulated);
    return uploadObstacle(item, space, disks) ?? item;
  });
  const refused = new Set(
    refined.flatMap((item, at) => ('refused' in item && item !== found[at] ? [item.step] : [])),
  );
  // The other changes of a refused step depend on the refused one.
  return refined.filter((item) => 'refused' in item || !refused.has(item.step));
}

export function isPackageChange(item: Found): item is PackageChange {
  return 'pending' in item;
}

function spaceObstacle(
  { id, pending }: PackageChange,
  simulated: Simulated | undefined,
  space: DiskSpace,
  disks: Disks,
): Refusal | undefined {
  const answer = simulated?.answers[id];
  if (answer?.kind !== 'value') return undefined;
  const found = space.reserve(needsOf(answer.value, pending.rebuildsInitramfs === true, disks));
  return found && refusal(pending.step, `${pending.subject.what} ${found.what}`, found.next);
}

/** Refuses uploads that do not fit the disks, with what they are unpacked to. */
function uploadObstacle(item: Found, space: DiskSpace, disks: Disks): Refusal | undefined {
  if (!('actions' in item)) return undefined;
  const { lasting, passing } = uploadNeeds(item, disks);
  const found = space.reserve(lasting, passing);
  return found && refusal(item.step, `"${item.title}" ${found.what}`, found.next);
}

function refine({ pending, ...change }: PackageChange, simulated: Simulated | undefined): Found {
  if (simulated === undefined) return change;
  const answer: Answer = simulated.answers[change.id] ?? { kind: 'unknown', why: 'not simulated' };
  if (answer.kind === 'value') return describeEffects(pending, answer.value);
  if (answer.kind === 'not-offered') return notOffered(pending, answer.offered);
  if (answer.kind === 'impossible') return refusal(pending.step, answer.what, answer.next);
  return simulated.final ? boundChange(pending, boundFromFacts(pending)) : shape(pending, answer.why);
}

function describeEffects(pending: Pending, effects: Effects): Found {
  const removed = removedDesktop(pending, effects);
  if (removed.length > 0) return desktopObstacle(pending, removed);
  if (effects.removes.length + effects.downgrades.length > mostHarm) return tooMuch(pending, effects);
  return {
    ...boundChange(pending, boundOf(effects), {
      version: effects.version,
      installs: effects.installs.map(({ name }) => name),
    }),
    details: effectDetails(effects),
  };
}

/** Returns the bound of a change without a simulation, from facts alone. */
function boundFromFacts({ transaction, subject }: Pending): Bound {
  const { packages, siblings = [], optional = [], remove } = transaction;
  const own = [...packages.map(({ name }) => name), ...optional, ...siblings];
  return { removes: [...remove].toSorted(), downgrades: isDowngrade(subject) ? own : [] };
}

function shape(pending: Pending, why: string): Shape {
  const bound = boundFromFacts(pending);
  return {
    ...later({ ...boundChange(pending, bound), details: boundDetails(bound) }, pending.step),
    why: `package simulation failed on the host: ${why}; provision stops if it would remove anything else`,
    bound,
  };
}

function notOffered({ step, request, subject }: Pending, offered: readonly string[]): Refusal {
  const branches = request?.key === 'driver.branch';
  const values = [...new Set(offered.map((version) => (branches ? version.replace(/\..*/, '') : version)))];
  const shown = values.slice(0, mostOffered).join(', ') + (values.length > mostOffered ? ', …' : '');
  return refusal(
    step,
    `${request?.what ?? subject.what} is not in the repositories; they have ${shown === '' ? 'none' : shown}`,
    `set ${request?.key ?? 'the version'} to one of these, or ${request?.otherwise ?? 'complete the mirror'}`,
  );
}

/** Returns packages that the transaction would remove and must not; ignores the architecture in names. */
function removedDesktop({ keeps, platform }: Pending, { removes }: Effects): string[] {
  const patterns = (keeps ?? platform.names.desktop.own).map(glob);
  return removes
    .map(({ name }) => name)
    .filter((name) => patterns.some((fits) => fits(name.replace(/:.*/, ''))))
    .toSorted();
}

function desktopObstacle({ step, subject, platform }: Pending, names: readonly string[]): Refusal {
  return refusal(
    step,
    `${subject.what} ${subject.to ?? ''} would remove ${names.join(', ')} from this host's desktop`,
    `${platform.packages.removal(names)} if this host needs no desktop, or ${
      step === 'driver'
        ? 'set driver: none to keep the present driver'
        : 'remove this host from the inventory'
    }`,
  );
}

/** Most packages that one change may remove or downgrade; more point to a problem of the host or its repositories. */
const mostHarm = 200;

function tooMuch({ step, subject }: Pending, { removes, downgrades }: Effects): Refusal {
  return refusal(
    step,
    `${subject.what} would remove ${removes.length} packages and downgrade ${downgrades.length}`,
    "check the host's package repositories and pins, or remove this host from the inventory",
  );
}

/** Most offered versions that a message names. */
const mostOffered = 8;

/** Most lines of upgrades, and most new packages by name; removals and downgrades are always shown. */
const mostUpgrades = 12;
const namedInstalls = 4;

/** Returns what a transaction does, line by line, removals and downgrades first. */
function effectDetails({
  removes,
  downgrades,
  upgrades,
  installs,
  kept,
  sources = [],
  repositories = [],
}: Effects): Detail[] {
  const [shown, rest] = [upgrades.slice(0, mostUpgrades), upgrades.slice(mostUpgrades)];
  return [
    ...removes.map((each): Detail => ({ marker: 'remove', text: withVersion(each, each.from) })),
    ...moved('downgrade', downgrades),
    ...moved('upgrade', shown),
    ...(rest.length === 0 ? [] : [changes(`upgrade ${rest.length} more packages`)]),
    ...(kept.length === 0 ? [] : [changes(`kept back: ${kept.join(', ')}`)]),
    ...sources.map((each): Detail => ({
      marker: 'add',
      text: `${each.replace(' ', ': ')} of the system's own archive`,
    })),
    ...repositories.map((each): Detail => ({ marker: 'add', text: `repository ${each}` })),
    ...newPackages(installs),
  ];
}

/** Returns what a change without a simulation may remove and downgrade. */
function boundDetails({ removes, downgrades }: Bound): Detail[] {
  return [
    ...removes.map((name): Detail => ({ marker: 'remove', text: name })),
    ...(downgrades.length === 0 ? [] : [changes(`downgrade ${downgrades.join(', ')}`)]),
  ];
}

function boundOf({ removes, downgrades }: Effects): Bound {
  const names = (moves: readonly Moved[]): string[] => moves.map(({ name }) => name).toSorted();
  return { removes: names(removes), downgrades: names(downgrades) };
}

/** Groups packages with the same versions: `downgrade libcuda1, libnvidia-ml1 595.71.05 → 580.95.05`. */
function moved(verb: 'upgrade' | 'downgrade', moves: readonly Moved[]): Detail[] {
  const alike = Map.groupBy(moves, versions);
  return [...alike].map(([change, same]) =>
    changes(`${verb} ${same.map(({ name }) => name).join(', ')} ${change}`),
  );
}

function versions({ from = '', to = '' }: Moved): string {
  const [before, after] = [upstream(from), upstream(to)];
  return before === after ? `${from} → ${to}` : `${before} → ${after}`;
}

function changes(text: string): Detail {
  return { marker: 'change', text };
}

function newPackages(installs: readonly Moved[]): Detail[] {
  if (installs.length === 0) return [];
  const names = installs.slice(0, namedInstalls).map((each) => withVersion(each, each.to));
  const rest = installs.length - names.length;
  return [{ marker: 'add', text: [...names, ...(rest === 0 ? [] : [`${rest} more`])].join(', ') }];
}

function withVersion({ name }: Moved, version: string | undefined): string {
  return version === undefined || version === '' ? name : `${name} ${upstream(version)}`;
}

/** One simulation by a host's package manager. */
export interface Simulation {
  /** POSIX sh, as root. Changes no packages and no configuration. */
  readonly script: string;
  /** Never throws. */
  readonly read: (output: string) => Answers;
}

/** Returns the simulation of changes without a known answer; undefined: none. Pure. */
export function simulationOf(
  found: readonly (Planned | Refusal)[],
  facts: Facts,
  desired: Desired,
  known: Answers,
): Simulation | undefined {
  const pending = found
    .filter(isPackageChange)
    .filter(({ id }) => known[id] === undefined || known[id].kind === 'unknown');
  const [first] = pending;
  if (first === undefined) return undefined;
  const { platform } = first.pending;
  const asked = pending.map(({ id, pending: { transaction } }) => ({ key: id, transaction }));
  return askPackageManager(asked, facts, desired, platform);
}

/** Returns the simulation of these transactions, with the sources of vendors that the host lacks. Pure. */
export function askPackageManager(
  asked: readonly Asked[],
  facts: Facts,
  desired: Desired,
  platform: Platform,
): Simulation {
  const { mirrors, proxy } = desired;
  const { caPem, ...rest } = proxy;
  const { simulator } = platform.packages;
  const script = simulator.script({
    asked,
    missing: vendorsOf(asked).filter((vendor) => !sourceIsThere(vendor, { platform, facts, desired })),
    system: platform,
    site: {
      mirrors,
      proxy: rest,
      ...defined({ caPem: lacksSiteCa(facts, desired) ? caPem : undefined }),
    },
  });
  return { script, read: (output) => simulator.parse(output, asked) };
}
