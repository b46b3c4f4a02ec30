import type { Proxy } from '../inventory/fleet.ts';
import type { Vendor } from './vendors.ts';

/** What one transaction brings and takes away. */
export interface Transaction {
  /** Whose source offers them. Without: the system's own. */
  readonly vendor?: Vendor;
  /** They are held. Empty where `before` brings all. */
  readonly packages: readonly WantedPackage[];
  /** All packages take the version that was chosen for the first one, or its release as their packagers have it. */
  readonly sameVersion?: boolean;
  /** Patterns of packages that are held together with the first one, where they have its version. */
  readonly siblings?: readonly string[];
  /** Installed packages that conflict; removed in the same transaction, so that nothing is lost when it cannot be done. */
  readonly remove: readonly string[];
  /** Shell patterns of other packages that may go as well. If any other would, it is not begun. */
  readonly mayRemove: readonly string[];
  /** Packages that the first one's version brings along where some source offers them at it. */
  readonly optional?: readonly string[];
  /** Come along at the newest version that begins so, where some source offers one. */
  readonly beside?: readonly { readonly name: string; readonly branch: string }[];
  /** Patterns of the names that the first package has in other branches: they tell which of them are offered. */
  readonly variants?: readonly string[];
  /** The same, of whoever may have packaged it before: with these goes what was held together with them. Default: `variants`. */
  readonly formerly?: readonly string[];
  /** Of the driver's branches the first one that knows the host's GPUs: no older one is worth suggesting. */
  readonly leastBranch?: number;
  /** Whose sources must not be among those that are read, because packages in them have the same names: they are switched off. */
  readonly without?: Vendor;
  readonly proxy: Proxy;
  /**
   * Shell text between reading the package lists and the transaction. It may use `fail`. A simulation runs it, too, with
   * stand-ins for the package manager's functions that change the host: it must use no other means.
   */
  readonly before?: string;
  /** Shell text after the versions have been confirmed and held. It may use `fail`. */
  readonly after?: string;
}

interface WantedPackage {
  readonly name: string;
  /** Without: the newest that is offered. */
  readonly version?: WantedVersion;
}

/** Upstream's number without a packager's additions: exactly that release, or the newest of a branch. */
export type WantedVersion = { readonly release: string } | { readonly branch: string };
