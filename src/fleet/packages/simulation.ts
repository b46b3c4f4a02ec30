import type { Answered } from '../../shared/base/reading.ts';
import type { Site, System, Vendor } from './vendors.ts';
import type { Transaction } from './transaction.ts';

/** A simulation of transactions by a package manager. */
export interface Simulator {
  /**
   * Script: prints what `parse` reads. It works in a temporary folder in /run, takes no lock, waits for none, and has a time
   * limit on each request. It changes none of the host's lists, caches and sources.
   */
  script(question: Question): string;
  /** Parses any output. A question without an answer is unknown. */
  parse(output: string, asked: readonly Asked[]): Answers;
}

export interface Question {
  readonly asked: readonly Asked[];
  /** Vendors whose sources the host lacks: the simulation adds them for itself. */
  readonly missing: readonly Vendor[];
  readonly system: System;
  readonly site: Site & { readonly caPem?: string };
}

export interface Asked {
  /** `[a-z0-9-]+` */
  readonly key: string;
  readonly transaction: Transaction;
}

/** Returns the vendors whose sources the questions need. */
export function vendorsOf(asked: readonly Asked[]): readonly Vendor[] {
  const vendors = asked.map(({ transaction: { vendor } }) => vendor);
  return [...new Set(vendors.filter((vendor) => vendor !== undefined))];
}

/** By the keys of the questions. */
export type Answers = Readonly<Record<string, Answer>>;

/** The effects of a transaction by the package manager's simulation, or why it is not possible. */
export type Answer = Answered<Effects> | Obstacle;

export type Obstacle =
  /** No source offers the version. Offered upstream versions, the newest first. */
  | { readonly kind: 'not-offered'; readonly offered: readonly string[] }
  /** All sources answered, and the transaction cannot be done. */
  | { readonly kind: 'impossible'; readonly what: string; readonly next: string };

export interface Effects {
  /** Upstream version of the first package. Undefined: the transaction names none. */
  readonly version?: string;
  /** `docker.io`, and of another architecture `libcuda1:i386`. */
  readonly removes: readonly Moved[];
  readonly installs: readonly Moved[];
  readonly upgrades: readonly Moved[];
  readonly downgrades: readonly Moved[];
  /** Undefined: the package manager did not report it. `installedBytes` is negative if packages free space. */
  readonly room?: { readonly downloadBytes: number; readonly installedBytes: number };
  /** Components of the system's archive that are added: `FILE COMPONENT…`. */
  readonly sources?: readonly string[];
  /** Repositories that are enabled, by the package manager's names. */
  readonly repositories?: readonly string[];
  /** Held packages that keep their version although a newer one is offered. */
  readonly kept: readonly string[];
}

/** A package and its versions before and after. */
export interface Moved {
  readonly name: string;
  readonly from?: string;
  readonly to?: string;
}

/** The most that a transaction may do to installed packages: names, or shell patterns of names. */
export interface Bound {
  readonly removes: readonly string[];
  readonly downgrades: readonly string[];
}
