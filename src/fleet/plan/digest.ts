import { sha256, stableJson } from '../../shared/base/digest.ts';
import type { Facts } from '../facts/facts.ts';
import type { Fleet } from '../inventory/fleet.ts';

/**
 * sha256 over the facts that a plan rests on. Left out is what moves by itself without changing what has to be done:
 * free disk, what of a bundle lies on it, memory, who works on the host, its locks, boots, the agents' images, and the manager's live status; texts, whose digests count;
 * and what only undoing asks for.
 */
export function factsDigest(facts: Facts): string {
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
    ...lasting
  } = facts;
  const { images: _images, ...docker } = facts.docker;
  const { status: _status, release: _release, ...manager } = facts.manager;
  const changes = facts.changes.filter(({ state }) => state === 'running').map(({ id }) => id);
  return sha256(stableJson({ ...lasting, docker, manager, changes, login: undefined }));
}

/** sha256 of the resolved inventory. Where the file lies and how fast uploads go does not count, nor the waves, which a plan has. */
export function inventoryDigest(fleet: Fleet): string {
  return sha256(stableJson({ ...fleet, file: undefined, uploads: undefined, waves: undefined }));
}
