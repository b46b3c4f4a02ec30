import type { Problem } from '../../shared/base/errors.ts';
import type { Reading } from '../../shared/base/reading.ts';
import type { Facts, GatheredFacts, UnknownFact } from './facts.ts';
import { probes } from './parse.ts';
import type { FactProbe } from './probe.ts';
import { dockerInfoProbe, dockerProbe } from './probes/docker.ts';
import { driverProbe } from './probes/driver.ts';
import { gpusProbe } from './probes/gpus.ts';
import { managerStatusProbe } from './probes/files.ts';
import { type InstalledManager, managerProbe } from './probes/manager.ts';
import { packagesProbes } from './probes/packages.ts';

/** A step read facts that are unknown. */
export class UnreadFact extends Error {
  readonly facts: readonly UnknownFact[];

  constructor(facts: readonly UnknownFact[]) {
    super(unreadLine(facts));
    this.facts = facts;
  }
}

/** Returns the facts for decisions: what is unknown throws `UnreadFact` when it is read, also through `reading`. Pure. */
export function withoutUnread(gathered: GatheredFacts): Facts {
  const view = { ...asIfAbsent(gathered), unknown: [] };
  for (const key of Object.keys(gathered).filter(isFact)) {
    const unread = unreadOf(gathered, key);
    if (unread.length === 0) continue;
    const get = (): never => {
      throw new UnreadFact(unread);
    };
    Object.defineProperty(view, key, { get, enumerable: true });
  }
  return view;
}

function isFact(key: string): key is keyof Facts {
  return key !== 'unknown';
}

/** Facts with these groups. */
export type FactsWith<K extends keyof Facts> = GatheredFacts & Pick<Facts, K>;

/** What could not be read, with the probes that gave no answer. */
interface Unread extends Extract<Reading<never>, { readonly kind: 'unknown' }> {
  readonly unread: readonly UnknownFact[];
}

type FactReading<T> = Extract<Reading<T>, { readonly kind: 'value' }> | Unread;

/** Reads groups of facts: unknown where a probe of one of them has no answer. Pure. */
export function reading<K extends keyof Facts>(
  gathered: GatheredFacts,
  ...keys: readonly K[]
): FactReading<FactsWith<K>> {
  return readingBy(unreadOf(gathered, ...keys), () => asIfAbsent(gathered));
}

/** The manager's last report; undefined: it has written none that this release reads. */
export const statusOf = part([managerStatusProbe], ({ manager }) => manager.status);
/** The release that wrote the report. */
export const releaseSeen = part([managerStatusProbe], ({ manager }) => manager.release);
/** The installed manager and its unit, without its report. */
export const installedManager = part([managerProbe], ({ manager }): InstalledManager => manager);
export const dockerVersion = part([dockerInfoProbe], ({ docker }) => docker.serverVersion);
export const loadedDriver = part([driverProbe], ({ driver }) => driver.loaded);
export const toolkitVersion = part(packagesProbes, ({ toolkit }) => toolkit.version);
/** What a probe container depends on. */
export const seenForProbe = part([dockerProbe, gpusProbe], ({ docker, toolkit, gpus, ignoredGpus }) => ({
  dockerRuns: docker.active,
  cdiSpec: toolkit.cdiSpec,
  gpus,
  ignoredGpus,
}));

/** Returns the reading of a part that these probes read alone: it may be known where the rest of its group is not. */
function part<T>(alone: readonly { readonly name: string }[], of: (facts: Facts) => T) {
  return (gathered: GatheredFacts): FactReading<T> => {
    const unread = gathered.unknown.filter(({ fact }) => alone.some(({ name }) => name === fact));
    return readingBy(unread, () => of(asIfAbsent(gathered)));
  };
}

function readingBy<T>(unread: readonly UnknownFact[], read: () => T): FactReading<T> {
  return unread.length > 0
    ? { kind: 'unknown', why: unreadLine(unread), unread }
    : { kind: 'value', value: read() };
}

/**
 * Returns the facts as if nothing were there where they were not read: for changes that the user wants in spite of that, and for
 * comparisons that name what is unknown. Pure.
 */
export function asIfAbsent(gathered: GatheredFacts): Facts {
  return gathered as Facts;
}

/** Returns the facts with another report of the manager, or another part of it. Pure. */
export function withReport(gathered: GatheredFacts, report: Partial<Report>): GatheredFacts {
  const facts = asIfAbsent(gathered);
  const changed: Facts = { ...facts, manager: { ...facts.manager, ...report } };
  return changed;
}

type Report = Pick<Facts['manager'], 'status' | 'release'>;

/** Returns what is unknown of these facts. Pure. */
export function unreadOf(
  { unknown }: Pick<Facts, 'unknown'>,
  ...keys: readonly (keyof Facts)[]
): readonly UnknownFact[] {
  return unknown.filter(({ fact }) => probeOf(fact)?.facts.some((each) => keys.includes(each)));
}

/** Formats `facts incomplete: docker-info (no answer in 8 s)`. */
export function unreadLine(unknown: readonly UnknownFact[]): string {
  return `facts incomplete: ${unknown.map(({ fact, why }) => `${fact} (${why})`).join(', ')}`;
}

/**
 * Returns why a host is not changed, and the next action. `otherwise`: what makes the command go on without these facts. Pure.
 */
export function unreadObstacle(
  unknown: readonly UnknownFact[],
  otherwise?: string,
): { readonly what: string; readonly next: string } {
  const meanings = unknown.flatMap(({ fact }) => probeOf(fact)?.meaning ?? []);
  const next = [...meanings.map((each) => each.next), unreadNext(unknown)].join('; ');
  return {
    what: [...meanings.map((each) => each.what), unreadLine(unknown)].join('; '),
    next: otherwise === undefined ? next : `${next}, or ${otherwise}`,
  };
}

/** Returns the problem of a host about which nothing can be said without these facts. */
export function unreadProblem(host: string, unknown: readonly UnknownFact[]): Problem {
  return {
    code: 'facts.incomplete',
    host,
    step: 'facts',
    what: unreadLine(unknown),
    next: unreadNext(unknown),
  };
}

/** Returns the next action: the commands that show why. */
export function unreadNext(unknown: readonly UnknownFact[]): string {
  const commands = new Set(unknown.flatMap(({ fact }) => probeOf(fact)?.byHand ?? []));
  return `find out why on the host: ${[...commands].join('; ')}; then run again`;
}

function probeOf(fact: string): FactProbe<unknown> | undefined {
  return probes.find(({ name }) => name === fact);
}
