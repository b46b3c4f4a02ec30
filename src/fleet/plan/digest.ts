import { sha256, stableJson } from '../../shared/base/digest.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import { asIfAbsent } from '../facts/unread.ts';
import type { Fleet } from '../inventory/fleet.ts';

/** Returns the sha256 of the facts that a plan depends on. */
export function factsDigest(gathered: GatheredFacts): string {
  return sha256(stableJson(lastingFacts(gathered)));
}

/** Hex digits that tell two values of one fact apart. */
const shortDigest = 12;

/** Returns a short digest of each fact that a plan depends on, by name: a later run names what has changed. */
export function factDigests(gathered: GatheredFacts): Readonly<Record<string, string>> {
  const facts = Object.entries(lastingFacts(gathered)).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    facts.map(([name, value]) => [name, sha256(stableJson(value)).slice(0, shortDigest)]),
  );
}

/** Returns the names of facts that differ, in alphabetical order. Pure. */
export function changedFacts(
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].filter((name) => before[name] !== now[name]).toSorted();
}

/**
 * Returns the facts that a plan depends on. It leaves out facts that change by themselves without changing the plan: free
 * disk, files of a bundle, memory, other users' work, locks, boots, the agents' images, and the manager's live status. It also
 * leaves out texts, whose digests count, and facts that only `remove` needs. What is unknown counts by the name of its probe.
 */
function lastingFacts(gathered: GatheredFacts): Readonly<Record<string, unknown>> {
  const facts = asIfAbsent(gathered);
  const {
    disk: _disk,
    initramfsBytes: _initramfs,
    arrived: _arrived,
    memoryMiB: _memory,
    others: _others,
    bootId: _boot,
    time: _time,
    uptimeS: _uptime,
    packageLock: _lock,
    hostLock: _hostLock,
    texts: _texts,
    ours: _ours,
    unknown,
    ...lasting
  } = facts;
  const { images: _images, ...docker } = facts.docker;
  const { screens: _screens, ...driver } = facts.driver;
  const orchestrators = facts.orchestrators.map(({ name, units }) => ({ name, units }));
  const { status: _status, release: _release, ...manager } = facts.manager;
  const changes = facts.changes.filter(({ state }) => state === 'running').map(({ id }) => id);
  // Why and since when they are unknown may change without changing the plan.
  const unread = unknown.length === 0 ? undefined : unknown.map(({ fact }) => fact);
  return { ...lasting, driver, docker, orchestrators, manager, changes, unknown: unread, login: undefined };
}

/** Returns the sha256 of the resolved inventory without its path, the uploads' limits, and the waves, which a plan has. */
export function inventoryDigest(fleet: Fleet): string {
  return sha256(stableJson({ ...fleet, file: undefined, uploads: undefined, waves: undefined }));
}
