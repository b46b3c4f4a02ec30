import type { Proxy } from '../inventory/fleet.ts';
import type { Bound, Simulator } from './simulation.ts';
import type { Transaction } from './transaction.ts';
import type { Site, System, Vendor } from './vendors.ts';

/**
 * A package manager, as the steps use it. Its scripts are POSIX sh and run as root under `-eu`. They can be interrupted at any
 * line and run again, wait for locks, and report failures with `fail` (base/shell.ts).
 */
export interface PackageManager {
  /** `[a-z0-9]+` */
  readonly name: string;
  /** Paths that the fact script takes digests of: the sources, their keys, and the site's authority. */
  readonly files: readonly string[];
  /** Folder of its sources, one file each. */
  readonly sourceFolder: string;
  /** Folders that its scripts write to: sources, keys, the site's authority. */
  readonly folders: readonly string[];
  /** Files that lock the package database. */
  readonly locks: readonly string[];
  readonly installed: InstalledProbe;
  /** Matches the package names of NVIDIA's user-space libraries. */
  readonly driverLibraries: RegExp;
  readonly trust: TrustStore;
  /** Returns a vendor's source for a system. */
  source(vendor: Vendor, system: System, site: Site): PackageSource;
  readonly simulator: Simulator;
  /**
   * Script: installs exactly the transaction's packages and holds them, also when it fails. It stops before it would remove or
   * downgrade more than `bound`, or without a bound more than the transaction names.
   */
  install(transaction: Transaction, bound?: Bound): string;
  /**
   * Script: holds installed packages, and those that match a pattern of `siblings` and have the version of the first.
   */
  hold(names: readonly string[], siblings?: readonly string[]): string;
  /** Shell text that prints `pinned NAME…` for packages whose version the owner's settings pin, with wildcards. Absent: no such settings. */
  readonly pins?: string;
  /** Script: lets packages be upgraded again. */
  unhold(names: readonly string[]): string;
  /**
   * Script: removes these packages, held or not, and stops before it would remove others. Their settings stay. `before`: shell
   * text that runs after that check and before the removal.
   */
  remove(names: readonly string[], before?: string): string;
  /** Removes the files that `source` has written. */
  withdraw(vendor: Vendor): Withdrawal;
  readonly offline: OfflinePackages;
  /**
   * Shell text with the functions `download URL FILE [SHA256]`, which fetches a file or ends the script with its URL, and `fail`.
   * It makes sure that the system has certificate authorities for https.
   */
  downloader(proxy: Proxy): string;
  /** The command that removes packages by hand. */
  removal(names: readonly string[]): string;
}

/** Fetches packages into a bundle, and uses them from a folder of the host instead of its sources. */
interface OfflinePackages {
  /** Folder on the host; its `pool` has the packages. */
  readonly folder: string;
  /** The index that the package manager reads. */
  readonly index: string;
  /** A file with the digest of the index, written once all packages of the index are in the folder. */
  readonly mark: string;
  /** Tells whether a package name is a kernel's. */
  isKernel(name: string): boolean;
  /**
   * Script for a container of the system's image: fetches the packages that the transactions install on an empty host, and writes a
   * tar archive to stdout: the index by its bare name, `keys/VENDOR`, `pool/FILE`.
   */
  gather(question: GatherQuestion): string;
  /** Matches a line on its stderr for each fetched file. */
  readonly fetches: RegExp;
  /** Parses an index. Fields that are missing are empty. */
  listed(index: string): readonly ListedPackage[];
  /** Package of the plugin that holds need. */
  readonly bringsToHold: boolean;
  /** Script: removes files from the folder that its index does not name. */
  readonly tidy: string;
  /** Returns the package manager with the folder as its only source. `next`: the next action if a package is missing. */
  manager(index: string, next: string): PackageManager;
}

/** A vendor's package source and the key that signs it. */
export interface PackageSource {
  readonly file: string;
  /** Content of the file. */
  readonly text: string;
  /** Path of the vendor's key. */
  readonly keyFile: string;
  /** Script: fetches the key, writes key and source, and switches off other sources for the same repository. */
  readonly script: string;
}

/** The removal of a source. */
interface Withdrawal {
  /** All files that may have been written for it. */
  readonly files: readonly string[];
  readonly script: string;
}

/** Reads the installed packages. It prints nothing on a host with another package manager. */
export interface InstalledProbe {
  /** POSIX sh that takes milliseconds. `patterns`: shell patterns of the package names that steps use. */
  script(patterns: readonly string[]): string;
  /** Matches each line of its output. */
  readonly line: RegExp;
  /** A command that a person runs to see why it fails. */
  readonly byHand: string;
  parse(output: string): Installed;
}

export interface Installed {
  /** Fully installed packages: name → version. */
  readonly packages: Readonly<Record<string, string>>;
  /** Packages whose installation or removal was interrupted; absent: the package manager has no such state. */
  readonly unfinished?: Readonly<Record<string, string>>;
  /** Sorted. */
  readonly held: readonly string[];
  /** A package that needs a reboot is newer than the boot, and no file on the host says so. */
  readonly awaitsReboot: boolean;
}

/** The certificate authorities of the system. */
export interface TrustStore {
  /** File of the site's authority, as PEM. */
  readonly file: string;
  /** Shell condition: the file exists, and programs read its certificates. */
  readonly trusted: string;
  /** Script: writes the file and makes the system trust it. */
  script(caPem: string, proxy: Proxy): string;
  /** Script: removes the file and the system's trust in it. */
  readonly withdraw: string;
}

/** The transactions whose packages are fetched for the hosts of one system. */
export interface GatherQuestion {
  readonly transactions: readonly Transaction[];
  readonly system: System;
  readonly site: Site & { readonly caPem?: string };
}

/** One package of an index. */
export interface ListedPackage {
  readonly name: string;
  /** With its epoch, if any. */
  readonly version: string;
  readonly architecture: string;
  /** Below `pool`. */
  readonly file: string;
  readonly sha256: string;
}

/** A folder of the machine with Docker that a container reads. */
export interface Mount {
  readonly source: string;
  readonly target: string;
}

/** Folder of a host that takes its packages from a bundle. */
export const packagesFolder = '/var/lib/azp-fleet/packages';

/** Has the digest of the index once all its packages are in the folder. */
export const folderMark = `${packagesFolder}/mark`;
