import type { Site, System, Vendor } from './vendors.ts';
import type { Transaction } from './transaction.ts';

/** How a package manager is asked what transactions would do, without doing them. */
export interface Simulator {
  /**
   * Script: prints what `parse` reads. It writes to a folder of its own in /run, which is gone when it ends, takes no
   * lock, waits for none, and has time limits on whatever it asks. The host's own lists, caches and sources stay as they
   * are.
   */
  script(question: Question): string;
  /** Total, whatever the host printed: what was asked and not answered is unknown. */
  parse(output: string, asked: readonly Asked[]): Answers;
}

export interface Question {
  readonly asked: readonly Asked[];
  /** Vendors whose sources are not on the host as they have to be: they are added beforehand, for the simulation alone. */
  readonly missing: readonly Vendor[];
  readonly system: System;
  readonly site: Site & { readonly caPem?: string };
}

export interface Asked {
  /** `[a-z0-9-]+` */
  readonly key: string;
  readonly transaction: Transaction;
}

/** Whose sources are needed to answer. */
export function vendorsOf(asked: readonly Asked[]): readonly Vendor[] {
  const vendors = asked.map(({ transaction: { vendor } }) => vendor);
  return [...new Set(vendors.filter((vendor) => vendor !== undefined))];
}

/** By the keys under which they were asked. */
export type Answers = Readonly<Record<string, Answer>>;

/** What a transaction would do, in the package manager's own words and numbers. */
export type Answer =
  | ({ readonly kind: 'known' } & Effects)
  /** The first package exists, if at all, in other versions only. Newest first, without a packager's additions. */
  | { readonly kind: 'not-offered'; readonly offered: readonly string[] }
  /** Everything that was asked did answer, and it cannot be done. */
  | { readonly kind: 'impossible'; readonly what: string; readonly next: string }
  | { readonly kind: 'unknown'; readonly why: string };

export interface Effects {
  /** Of the first package, without a packager's additions. Undefined where any would have done. */
  readonly version?: string;
  /** `docker.io`, and of another architecture `libcuda1:i386`. */
  readonly removes: readonly Moved[];
  readonly installs: readonly Moved[];
  readonly upgrades: readonly Moved[];
  readonly downgrades: readonly Moved[];
  /** What it takes; undefined: the package manager did not say. `installedBytes` below 0: more goes than comes. */
  readonly room?: { readonly downloadBytes: number; readonly installedBytes: number };
  /** What of the system's own archive is added to its sources: `FILE COMPONENT…`. */
  readonly sources?: readonly string[];
  /** Repositories that are read from now on, by their names to the package manager. */
  readonly repositories?: readonly string[];
  /** Packages that stay at their version although a newer one is there. */
  readonly kept: readonly string[];
}

/** A package and its versions before and after; one that comes has only the latter, one that goes only the former. */
export interface Moved {
  readonly name: string;
  readonly from?: string;
  readonly to?: string;
}

/** The most that a transaction may do to packages that are installed: names, or shell patterns of names. */
export interface Bound {
  readonly removes: readonly string[];
  readonly downgrades: readonly string[];
}
