import { sh } from '../../shared/base/shell.ts';
import type { DriverSpec } from '../inventory/fleet.ts';
import type { Machine, Site } from './vendors.ts';

/** Which kernel modules. */
export type Flavor = Exclude<DriverSpec['flavor'], 'auto'>;

/** What agents may do with the driver beyond computing. */
export type DriverUse = 'graphics' | 'video';

/** What one distribution calls what steps install, look for and take away. */
export interface SystemNames {
  readonly engine: {
    /** The distribution's own Docker Engine. */
    readonly own: string;
    /** The distribution's packages that hold the same files as Docker's. */
    readonly conflicts: readonly string[];
    /** Docker has no packages for this system: the distribution's engine comes and stays, at its version. */
    readonly kept?: true;
  };
  readonly driver: DriverNames;
  /** Libraries that an agent on the host itself loads. */
  readonly agentLibraries: readonly LibraryNames[];
  /** Packages that stand for the newest kernel, as the installer leaves them. Empty: the headers bring it. */
  readonly kernels: Readonly<Record<Machine, readonly string[]>>;
  /** Patterns of packages. */
  readonly desktop: {
    /** A host that has one of them shows something on a screen; none goes for a change of ours. */
    readonly own: readonly string[];
    /** What a desktop draws and plays with, of the driver's. */
    readonly driver: readonly string[];
  };
}

/**
 * NVIDIA's driver as packaged for one distribution, compute only: no display server comes with it. Whose packages they are,
 * NVIDIA's or the distribution's own, the wish says (`method`).
 */
export interface DriverNames {
  /** The distribution has packages of its own, of this branch where nobody asks for another one. */
  readonly own?: { readonly branch: string };
  /** All at one version. */
  packages(spec: DriverSpec, flavor: Flavor, nvswitches: number): readonly string[];
  /** Libraries that come with them, at their version, so that containers can have them. */
  extras(spec: DriverSpec, uses: readonly DriverUse[]): readonly string[];
  /** Of such libraries those that an installed driver has not, under the names that they have in its family. */
  lacks(packages: Readonly<Record<string, string>>, uses: readonly DriverUse[]): readonly string[];
  /** Patterns of the names that the first one of `packages` has in any branch. */
  variants(spec: DriverSpec): readonly string[];
  /** The same in either's packages: whatever has its version was held with it. */
  readonly formerly: readonly string[];
  /** Come along where some source offers them at the driver's version. */
  optional(spec: DriverSpec): readonly string[];
  /** Come along at the newest version of the branch, whatever the driver's is. */
  beside?(spec: DriverSpec): readonly string[];
  /** Of the installed packages those of another branch, kind or pin, which would be in the way. */
  obsolete(installed: readonly string[], spec: DriverSpec, wanted: readonly string[]): readonly string[];
  /** Patterns of packages that are held with the driver, where they have its version. */
  readonly family: readonly string[];
  /** Patterns of packages that may go when the driver changes. */
  readonly replaced: readonly string[];
  /** What the modules are built with. `next`: the running kernel gets none. */
  build(host: BuildHost, scope: 'all' | 'next'): Build;
  /** Shell text for `before` of the driver's transaction: pins, what the packages lean on. */
  prepare(spec: DriverSpec, site: Pick<Site, 'mirrors'>): string;
  readonly runfile: RunfileNeeds;
  readonly signing: Signing;
  /** Shell text that lets what stands in /etc/modprobe.d hold from the next boot on. */
  readonly refreshInitramfs: string;
}

/** What the installer in NVIDIA's `.run` file leans on, beside what modules are built with. */
export interface RunfileNeeds {
  packages(uses: readonly DriverUse[]): readonly string[];
  /** Shell text for `before` of the transaction that brings them: a source that they come from. */
  prepare?(site: Pick<Site, 'mirrors'>): string;
}

/** What Secure Boot asks of kernel modules. */
interface Signing {
  /** What DKMS signs with, unless its configuration names another one: the certificate's path. */
  readonly certificate: string;
  /** What a person types where there is none. */
  readonly create: string;
  /** Its kernel of this release takes modules that are signed with a key of the firmware's own list (`db`). */
  trustsFirmware(release: string): boolean;
  /** The distribution has signed an NVIDIA module for this kernel, and it is installed. */
  covers(packages: Readonly<Record<string, string>>, release: string): boolean;
  /** The installed modules are built on the host. */
  builtHere(packages: Readonly<Record<string, string>>): boolean;
  /** How a person gets modules that need no key of the host's own: `take …`. Undefined: there are none. */
  readyMade(
    host: { readonly arch: string; readonly packages: Readonly<Record<string, string>> },
    spec: DriverSpec,
    flavor: Flavor,
  ): string | undefined;
}

/** What a host shows of the kernels that it may run, and of what it builds modules with. */
export interface BuildHost {
  /** The running kernel, then the newest newer one that is installed, if any. */
  readonly kernels: readonly {
    readonly release: string;
    readonly headers: boolean;
    readonly driver: boolean;
  }[];
  /** Programs that are not there. */
  readonly lacksToBuild: readonly string[];
  /** Installed ones by name. */
  readonly packages: Readonly<Record<string, string>>;
  readonly held: readonly string[];
}

/** What has to come, so that modules can be built for a host's kernels: also for those that upgrades bring. */
export interface Build {
  /** Names, for people. None: all is there. */
  readonly packages: readonly string[];
  /** Shell text for `before` of a transaction that brings them. It says what no source offers. */
  readonly script: string;
  /** The newer kernel, where a package brought it: it will be booted. */
  readonly next: BuildHost['kernels'][number] | undefined;
}

/** What a program needs of the system's libraries and does not find. */
export interface Libraries {
  /** In words: `ICU`. None: all are there. */
  readonly missing: readonly string[];
  /** Shell text for `before` of a transaction that brings them. It says what no source offers. */
  readonly script: string;
}

/** One library, under all names that it has on the systems of a family, the newest first. */
export interface LibraryNames {
  readonly what: string;
  readonly names: readonly string[];
}

/** Returns the libraries that an agent lacks, of the packages by name → version. */
export function missingLibraries(
  libraries: readonly LibraryNames[],
  packages: Readonly<Record<string, string>>,
): Libraries {
  const missing = libraries.filter(({ names }) => names.every((name) => packages[name] === undefined));
  if (missing.length === 0) return { missing: [], script: '' };
  return {
    missing: missing.map(({ what }) => what),
    script: [functions, ...missing.map(({ what, names }) => sh`first ${what} ${names}`), finish].join('\n'),
  };
}

/** Shell function `first WHAT NAME…`: the first of them that is offered is put on the list in `$libraries`. */
const functions = `libraries=
first() {
  what=$1
  shift
  for name in "$@"; do
    if [ -n "$(offered "$name")" ]; then
      libraries="$libraries $name"
      return
    fi
  done
  fail "no package source offers $what for agents on the host" "one of $*" 'none' 'complete the mirror'
}`;

const finish = `# Package names hold no blanks, and are meant to be split.
# shellcheck disable=SC2086
bring $libraries`;
