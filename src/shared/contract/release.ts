import { version } from '../base/version.ts';

/**
 * Version of the interface between CLI and manager: status, control socket, configuration, state, labels. The first change
 * in a release raises it by one. Releases whose numbers differ by one work together, in both directions.
 */
export const protocol = 2;

/** A CLI or a manager. */
export interface Release {
  readonly version: string;
  readonly protocol: number;
}

/** The release of this program. */
export const ourRelease: Release = { version, protocol };

const plainVersion = /^\d+\.\d+\.\d+(?:[-+][\w.+-]{1,40})?$/;

/** Reads the release of a manager from keys that each release has in its status; undefined: not a status. */
export function releaseOf(status: unknown): Release | undefined {
  const { version: theirs, protocol: number } = Object(status) as Readonly<Record<string, unknown>>;
  if (typeof theirs !== 'string' || !plainVersion.test(theirs)) return undefined;
  return typeof number === 'number' && Number.isInteger(number)
    ? { version: theirs, protocol: number }
    : undefined;
}

/** The reason why a CLI and a manager of two releases do not work together. */
export interface ReleaseGap {
  /** Compared with the CLI. */
  readonly manager: 'older' | 'newer';
  readonly what: string;
  readonly next: string;
}

/** Returns the gap between two releases; undefined: they work together. `host`: undefined when the text appears beside its name. Pure. */
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
