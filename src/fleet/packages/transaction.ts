import type { Proxy } from '../inventory/fleet.ts';
import type { Vendor } from './vendors.ts';

/** Packages to install and to remove together. */
export interface Transaction {
  /** The vendor whose source offers them. Default: the system. */
  readonly vendor?: Vendor;
  /** Packages to install and hold. Empty if `before` installs all. */
  readonly packages: readonly WantedPackage[];
  /** All packages take the version of the first one, or the newest packaging of its release. */
  readonly sameVersion?: boolean;
  /** Patterns of packages that are held with the first one if they have its version. */
  readonly siblings?: readonly string[];
  /** Conflicting packages, removed in the same transaction, so that a failure loses nothing. */
  readonly remove: readonly string[];
  /** Shell patterns of other packages that may be removed too. */
  readonly mayRemove: readonly string[];
  /** Packages that are installed if a source offers them at the first one's version. */
  readonly optional?: readonly string[];
  /** Packages that are installed at the newest version that begins with `branch`. */
  readonly beside?: readonly { readonly name: string; readonly branch: string }[];
  /** Name patterns of the first package in other branches: they show which branches are offered. */
  readonly variants?: readonly string[];
  /** Name patterns of the first package by any packager: packages that were held with it can change too. Default: `variants`. */
  readonly formerly?: readonly string[];
  /** The first driver branch that supports the host's GPUs: the script suggests no older one. */
  readonly leastBranch?: number;
  /** Vendor whose sources are switched off, because their packages have the same names. */
  readonly without?: Vendor;
  readonly proxy: Proxy;
  /**
   * Shell text that runs between reading the package lists and the transaction. It may use `fail`. A simulation runs it too, with
   * stand-ins for the functions that change the host: it must change the host only through these.
   */
  readonly before?: string;
  /**
   * A check of what will be installed, right before that: the files of `package` are below `$trial/files` while the shell text runs.
   * It may use `fail`; nothing has changed then. A simulation leaves it out.
   */
  readonly trial?: { readonly package: string; readonly script: string };
  /** Shell text that runs after the packages are confirmed and held. It may use `fail`. */
  readonly after?: string;
}

interface WantedPackage {
  readonly name: string;
  /** Default: the newest that a source offers. */
  readonly version?: WantedVersion;
}

/** Upstream's number: exactly that release, or the newest of a branch. */
export type WantedVersion = { readonly release: string } | { readonly branch: string };
