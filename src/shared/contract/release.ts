import { version } from '../base/version.ts';

/**
 * What the CLI and the manager say to each other: status, control socket, configuration, state, labels. Raised by one with
 * the first change of that in a release; releases whose numbers are one apart work together, whichever is the newer.
 */
export const protocol = 2;

/** A CLI or a manager. */
export interface Release {
  readonly version: string;
  readonly protocol: number;
}

/** This program's. */
export const ourRelease: Release = { version, protocol };

const plainVersion = /^\d+\.\d+\.\d+(?:[-+][\w.+-]{1,40})?$/;

/**
 * The release of a manager, from what the status of each release has, however strange the rest is; undefined: it is no
 * status.
 */
export function releaseOf(status: unknown): Release | undefined {
  const { version: theirs, protocol: number } = Object(status) as Readonly<Record<string, unknown>>;
  if (typeof theirs !== 'string' || !plainVersion.test(theirs)) return undefined;
  return typeof number === 'number' && Number.isInteger(number)
    ? { version: theirs, protocol: number }
    : undefined;
}

/** Why a CLI and a manager of these releases do not work together; undefined: they do. */
export interface ReleaseGap {
  /** What the manager is, seen from the CLI. */
  readonly manager: 'older' | 'newer';
  readonly what: string;
  readonly next: string;
}

/** Returns the gap between two releases. `host`: undefined where the text is shown beside its name. Pure. */
export function releaseGap(
  host: string | undefined,
  manager: Release,
  ours: Release = ourRelease,
): ReleaseGap | undefined {
  const ahead = manager.protocol - ours.protocol;
  if (Math.abs(ahead) <= 1) return undefined;
  const where = host === undefined ? 'the manager' : `the manager on ${host}`;
  const what = `${where} is ${manager.version}, this azp-fleet is ${ours.version}: they are more than one release apart`;
  return ahead < 0
    ? { manager: 'older', what, next: `run "${['azp-fleet provision', host ?? []].flat().join(' ')}"` }
    : { manager: 'newer', what, next: `update azp-fleet on this machine to ${manager.version}` };
}
