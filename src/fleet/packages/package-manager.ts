import type { Proxy } from '../inventory/fleet.ts';
import type { Bound, Simulator } from './simulation.ts';
import type { Transaction } from './transaction.ts';
import type { Site, System, Vendor } from './vendors.ts';

/**
 * All that the rest knows of a package manager. Each has a folder, and distributions name theirs.
 * Scripts are POSIX sh under `-eu` as root: they may be cut off at any line and run again, wait for the locks,
 * and end failures with `fail` (base/shell.ts).
 */
export interface PackageManager {
  /** `[a-z0-9]+` */
  readonly name: string;
  /** Paths that the fact script takes digests of: the sources, their keys, and the site's authority. */
  readonly files: readonly string[];
  /** Where its sources lie, a file each. */
  readonly sourceFolder: string;
  /** Folders and files that its scripts themselves write: sources, keys, the site's authority. */
  readonly folders: readonly string[];
  /** Files whose kernel locks guard the package database. */
  readonly locks: readonly string[];
  readonly installed: InstalledProbe;
  /** Matches NVIDIA's user-space libraries, under any name that a package of this manager has for them. */
  readonly driverLibraries: RegExp;
  readonly trust: TrustStore;
  /** A vendor's source as it has to be on such a system. */
  source(vendor: Vendor, system: System, site: Site): PackageSource;
  readonly simulator: Simulator;
  /**
   * Script: unhold, look at what would go, install exactly, confirm, hold. Holds come back whatever happens.
   * `bound`: what was announced of it; without, what the transaction itself foresees may go.
   */
  install(transaction: Transaction, bound?: Bound): string;
  /**
   * Script: keeps packages that are there at their version, and those that match a pattern of `siblings` and have the
   * version of the first.
   */
  hold(names: readonly string[], siblings?: readonly string[]): string;
  /** Script: lets packages be upgraded again. */
  unhold(names: readonly string[]): string;
  /**
   * Script: takes these packages away, held or not, and no other: where more would go, it ends before. Their settings stay.
   * `before`: shell text that comes after that look, and before anything goes.
   */
  remove(names: readonly string[], before?: string): string;
  /** Takes a vendor's source and its key away, as `source` has written them. */
  withdraw(vendor: Vendor): Withdrawal;
  readonly offline: OfflinePackages;
  /**
   * Shell text that a script begins with: `download URL FILE [SHA256]` fetches a file, or ends the script with the address;
   * an address with https finds the system's authorities. `fail` is there, too.
   */
  downloader(proxy: Proxy): string;
  /** What a person types to take packages away. */
  removal(names: readonly string[]): string;
}

/** Packages that lie in a folder of the host, in the place of every source: how they are gathered, and used. */
interface OfflinePackages {
  /** On the host. The packages lie in `pool` below it. */
  readonly folder: string;
  /** What the package manager reads. */
  readonly index: string;
  /** A file in it that holds the digest of the index, once all that the index names is there. */
  readonly mark: string;
  /** An installed package, by its name, is a kernel, whose headers a host may need. */
  isKernel(name: string): boolean;
  /**
   * Script, as root in a container of that image: fetches all that the transactions take on a host that has nothing yet, and
   * writes it to standard output as a tar archive: the index by its bare name, `keys/VENDOR`, `pool/FILE`.
   */
  gather(question: GatherQuestion): string;
  /** Matches a line of its standard error that tells of one more file being fetched. */
  readonly fetches: RegExp;
  /** What an index names. Total: where it is broken, fields are empty. */
  listed(index: string): readonly ListedPackage[];
  /** Holding packages takes a package, too. */
  readonly bringsToHold: boolean;
  /** Script: takes out of the folder what its index does not name. */
  readonly tidy: string;
  /** The package manager as it is with the folder alone. `next`: what to do where something is not in it. */
  manager(index: string, next: string): PackageManager;
}

/** A vendor's package source and the key that signs it. */
export interface PackageSource {
  readonly file: string;
  /** All of the file. */
  readonly text: string;
  /** Where the key goes. Its content is the vendor's. */
  readonly keyFile: string;
  /** Script: fetches the key, writes both, and switches off other sources for the same repository. */
  readonly script: string;
}

/** How a source is undone. */
interface Withdrawal {
  /** All that may have been written for it. */
  readonly files: readonly string[];
  readonly script: string;
}

/** What is installed. Nothing on a host that has another package manager. */
export interface InstalledProbe {
  /** POSIX sh, within milliseconds. `patterns`: shell patterns of the names that steps look at. */
  script(patterns: readonly string[]): string;
  /** Total, whatever the host printed. */
  parse(output: string): Installed;
}

export interface Installed {
  /** Fully installed packages: name → version. */
  readonly packages: Readonly<Record<string, string>>;
  /** Packages that are there in part, because their installation or removal was cut; absent: there is no such state. */
  readonly unfinished?: Readonly<Record<string, string>>;
  /** Sorted. */
  readonly held: readonly string[];
  /** Something that only a reboot brings into use is newer than the boot, and nothing else on such systems says so. */
  readonly awaitsReboot: boolean;
}

/** The system's certificate authorities. */
export interface TrustStore {
  /** The site's own, as PEM, among them. */
  readonly file: string;
  /** Shell condition: the file is there, and its certificates are among those that programs read. */
  readonly trusted: string;
  /** Script: writes the file, and has the system trust it. */
  script(caPem: string, proxy: Proxy): string;
  /** Script: takes the file away again, and has the system forget it. */
  readonly withdraw: string;
}

/** What is fetched for hosts of one system that will reach no source. */
export interface GatherQuestion {
  readonly transactions: readonly Transaction[];
  readonly system: System;
  readonly site: Site & { readonly caPem?: string };
}

/** One package of an index, as the package manager knows it. */
export interface ListedPackage {
  readonly name: string;
  /** With its epoch, where it has one. */
  readonly version: string;
  readonly architecture: string;
  /** Below `pool`. */
  readonly file: string;
  readonly sha256: string;
}

/** A folder of the machine that Docker runs on, for a container to read. */
export interface Mount {
  readonly source: string;
  readonly target: string;
}

/** On a host that takes its packages from a bundle. They lie in `pool` below it. */
export const packagesFolder = '/var/lib/azp-fleet/packages';

/** Holds the digest of the index, once all that the index names is there. */
export const folderMark = `${packagesFolder}/mark`;
