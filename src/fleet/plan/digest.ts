import { sha256, stableJson } from '../../shared/base/digest.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import { asIfAbsent } from '../facts/unread.ts';
import type { Fleet } from '../inventory/fleet.ts';

/**
 * Returns the sha256 of the facts that a plan depends on. It leaves out facts that change by themselves without changing the plan: free
 * disk, files of a bundle, memory, other users' work, locks, boots, the agents' images, and the manager's live status. It also
 * leaves out texts, whose digests count, and facts that only `remove` needs. What is unknown counts by the name of its probe.
 */
export function factsDigest(gathered: GatheredFacts): string {
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
  const { status: _status, release: _release, ...manager } = facts.manager;
  const changes = facts.changes.filter(({ state }) => state === 'running').map(({ id }) => id);
  // Why and since when they are unknown may change without changing the plan.
  const unread = unknown.length === 0 ? undefined : unknown.map(({ fact }) => fact);
  return sha256(stableJson({ ...lasting, docker, manager, changes, unknown: unread, login: undefined }));
}

/** Returns the sha256 of the resolved inventory without its path, the uploads' limits, and the waves, which a plan has. */
export function inventoryDigest(fleet: Fleet): string {
  return sha256(stableJson({ ...fleet, file: undefined, uploads: undefined, waves: undefined }));
}
