import type { Facts } from '../../facts/facts.ts';
import { glob } from '../../inventory/glob.ts';
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
import { type Disks, needsOf, Room, uploadNeeds } from './disk-space.ts';
import { sourceIsThere } from './repositories.ts';
import { lacksSiteCa } from '../site-ca.ts';
import type { Desired, Planned } from '../step.ts';
import { defined } from '../../../shared/base/objects.ts';

type Found = Planned | Refusal;

/** What package managers have said, by the id of the change that they were asked about. */
export interface Said {
  readonly answers: Answers;
  /** Nothing can be done before it: what is still unknown runs under what was announced of it. */
  readonly final: boolean;
}

/**
 * The package changes among these as they are known now, and what of all changes does not fit the disks. `said` undefined: nobody asked. `disks`: what room there is,
 * measured; undefined: enough. Pure.
 */
export function refinePackages(
  found: readonly Found[],
  said?: Said,
  disks: Disks = { disk: {}, initramfsBytes: 0, arrived: {} },
): Found[] {
  const room = new Room(disks);
  const refined = found.map((item) => {
    if (isPackageChange(item)) return roomObstacle(item, said, room, disks) ?? refine(item, said);
    return uploadObstacle(item, room, disks) ?? item;
  });
  const refused = new Set(
    refined.flatMap((item, at) => ('refused' in item && item !== found[at] ? [item.step] : [])),
  );
  // What else its step would do makes no sense without it.
  return refined.filter((item) => 'refused' in item || !refused.has(item.step));
}

export function isPackageChange(item: Found): item is PackageChange {
  return 'pending' in item;
}

function roomObstacle(
  { id, pending }: PackageChange,
  said: Said | undefined,
  room: Room,
  disks: Disks,
): Refusal | undefined {
  const answer = said?.answers[id];
  if (answer?.kind !== 'known') return undefined;
  const found = room.take(needsOf(answer, pending.rebuildsInitramfs === true, disks));
  return found && refusal(pending.step, `${pending.subject.what} ${found.what}`, found.next);
}

/** What is brought, and what becomes of it, has to fit as well. */
function uploadObstacle(item: Found, room: Room, disks: Disks): Refusal | undefined {
  if (!('actions' in item)) return undefined;
  const { lasting, passing } = uploadNeeds(item, disks);
  const found = room.take(lasting, passing);
  return found && refusal(item.step, `"${item.title}" ${found.what}`, found.next);
}

function refine({ pending, ...change }: PackageChange, said: Said | undefined): Found {
  if (said === undefined) return change;
  const answer: Answer = said.answers[change.id] ?? { kind: 'unknown', why: 'not simulated' };
  if (answer.kind === 'known') return describeEffects(pending, answer);
  if (answer.kind === 'not-offered') return notOffered(pending, answer.offered);
  if (answer.kind === 'impossible') return refusal(pending.step, answer.what, answer.next);
  return said.final ? boundChange(pending, foreseen(pending)) : shape(pending, answer.why);
}

function describeEffects(pending: Pending, effects: Effects): Found {
  const kept = lost(pending, effects);
  if (kept.length > 0) return desktopObstacle(pending, kept);
  if (effects.removes.length + effects.downgrades.length > mostHarm) return tooMuch(pending, effects);
  return {
    ...boundChange(pending, boundOf(effects), {
      version: effects.version,
      comes: effects.installs.map(({ name }) => name),
    }),
    details: effectDetails(effects),
  };
}

/** The most that it may do where nobody can say what it will: what facts alone tell. */
function foreseen({ transaction, subject }: Pending): Bound {
  const { packages, siblings = [], optional = [], remove } = transaction;
  const own = [...packages.map(({ name }) => name), ...optional, ...siblings];
  return { removes: [...remove].toSorted(), downgrades: isDowngrade(subject) ? own : [] };
}

function shape(pending: Pending, why: string): Shape {
  const bound = foreseen(pending);
  return {
    ...later({ ...boundChange(pending, bound), details: boundDetails(bound) }, pending.step),
    why: `package simulation failed on the host: ${why}; provision stops if it would remove anything else`,
    bound,
  };
}

function notOffered({ step, wish, subject }: Pending, offered: readonly string[]): Refusal {
  const branches = wish?.key === 'driver.branch';
  const values = [...new Set(offered.map((version) => (branches ? version.replace(/\..*/, '') : version)))];
  const shown = values.slice(0, mostOffered).join(', ') + (values.length > mostOffered ? ', …' : '');
  return refusal(
    step,
    `${wish?.what ?? subject.what} is not offered; offered: ${shown === '' ? 'nothing' : shown}`,
    `set ${wish?.key ?? 'the version'} to one that is offered, or ${wish?.otherwise ?? 'complete the mirror'}`,
  );
}

/** Of what would go, what has to stay; the architecture behind a name decides nothing. */
function lost({ keeps, platform }: Pending, { removes }: Effects): string[] {
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

/** So many packages may go or get older by one change; where more would, something is wrong with host or sources. */
const mostHarm = 200;

function tooMuch({ step, subject }: Pending, { removes, downgrades }: Effects): Refusal {
  return refusal(
    step,
    `${subject.what} would remove ${removes.length} packages and downgrade ${downgrades.length}`,
    "check the host's package repositories and pins, or remove this host from the inventory",
  );
}

/** So many versions are named. */
const mostOffered = 8;

/** So many lines of upgrades are shown, and so many new packages named; removals and downgrades always are. */
const mostUpgrades = 12;
const namedInstalls = 4;

/** What a transaction does, line by line: what goes and what gets older first. */
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

/** What may go where nobody could be asked. */
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

/** Those that go the same way share a line: `downgrade libcuda1, libnvidia-ml1 595.71.05 → 580.95.05`. */
function moved(verb: 'upgrade' | 'downgrade', moves: readonly Moved[]): Detail[] {
  const alike = Map.groupBy(moves, versions);
  return [...alike].map(([way, same]) =>
    changes(`${verb} ${same.map(({ name }) => name).join(', ')} ${way}`),
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

/** One question to the package manager of one host. */
export interface Simulation {
  /** POSIX sh, as root. It changes nothing of the host's own. */
  readonly script: string;
  /** Total. */
  readonly read: (output: string) => Answers;
}

/** What has to be asked about these changes, beyond what is known already; undefined: nothing. Pure. */
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
  const asked: readonly Asked[] = pending.map(({ id, pending: { transaction } }) => ({
    key: id,
    transaction,
  }));
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
