import { sh } from '../../shared/base/shell.ts';
import type { DriverSpec } from '../inventory/fleet.ts';
import type { Machine, Site } from './vendors.ts';

/** Kind of kernel modules. */
export type Flavor = Exclude<DriverSpec['flavor'], 'auto'>;

/** Driver features for jobs beyond computing. */
export type DriverUse = 'graphics' | 'video';

/** The package names of one distribution. */
export interface SystemNames {
  readonly engine: {
    /** The distribution's Docker Engine. */
    readonly own: string;
    /** The distribution's packages that have the same files as Docker's. */
    readonly conflicts: readonly string[];
    /** Docker has no packages for this system: the distribution's engine is installed and keeps its version. */
    readonly kept?: true;
  };
  readonly driver: DriverNames;
  /** Libraries that an agent on the host itself loads. */
  readonly agentLibraries: readonly LibraryNames[];
  /** Packages that depend on the newest kernel, as the installer leaves them. Empty: the headers install it. */
  readonly kernels: Readonly<Record<Machine, readonly string[]>>;
  /** Patterns of packages. */
  readonly desktop: {
    /** A host with one of them has a desktop; no change removes them. */
    readonly own: readonly string[];
    /** The driver's packages that a desktop needs. */
    readonly driver: readonly string[];
  };
}

/** NVIDIA's driver as packaged for one distribution, compute only. `method` decides between NVIDIA's and the distribution's packages. */
export interface DriverNames {
  /** The distribution has separate driver packages, by default of this branch, and of `older` ones that NVIDIA dropped. */
  readonly own?: { readonly branch: string; readonly older?: readonly number[] };
  /** Packages that all have one version. */
  packages(spec: DriverSpec, flavor: Flavor, nvswitches: number): readonly string[];
  /** Libraries at the same version, which containers use. */
  extras(spec: DriverSpec, uses: readonly DriverUse[]): readonly string[];
  /** The libraries that an installed driver lacks, by the names of its family. */
  lacks(packages: Readonly<Record<string, string>>, uses: readonly DriverUse[]): readonly string[];
  /** Name patterns of the first package in any branch. */
  variants(spec: DriverSpec): readonly string[];
  /** The same patterns for NVIDIA's and the distribution's packages: packages with its version were held with it. */
  readonly formerly: readonly string[];
  /** Installed if a source offers them at the driver's version. */
  optional(spec: DriverSpec): readonly string[];
  /** Installed at the newest version of the branch. */
  beside?(spec: DriverSpec): readonly string[];
  /** Installed packages of another branch, kind or pin that conflict. */
  obsolete(installed: readonly string[], spec: DriverSpec, desired: readonly string[]): readonly string[];
  /** Patterns of packages that are held with the driver if they have its version. */
  readonly family: readonly string[];
  /** Patterns of packages that may be removed when the driver changes. */
  readonly replaced: readonly string[];
  /** Packages that build the modules. `next`: for the next kernel only. */
  build(host: BuildHost, scope: 'all' | 'next'): Build;
  /** Shell text for `before` of the driver's transaction: pins, and repositories of dependencies. */
  prepare(spec: DriverSpec, site: Pick<Site, 'mirrors'>): string;
  readonly runfile: RunfileNeeds;
  readonly signing: Signing;
  /** Shell text that applies /etc/modprobe.d from the next boot on. */
  readonly refreshInitramfs: string;
}

/** Packages that the installer in NVIDIA's `.run` file needs besides those that build modules. */
export interface RunfileNeeds {
  packages(uses: readonly DriverUse[]): readonly string[];
  /** Shell text for `before` of the transaction that installs them: adds their repository. */
  prepare?(site: Pick<Site, 'mirrors'>): string;
}

/** How kernel modules are signed for Secure Boot. */
interface Signing {
  /** Path of the certificate that DKMS signs with by default. */
  readonly certificate: string;
  /** The command that creates it. */
  readonly create: string;
  /** Tells whether the kernel accepts modules signed with a key of the firmware's list (`db`). */
  trustsFirmware(release: string): boolean;
  /** Tells whether a module that the distribution signed for this kernel is installed. */
  covers(packages: Readonly<Record<string, string>>, release: string): boolean;
  /** Tells whether the installed modules are built on the host. */
  builtHere(packages: Readonly<Record<string, string>>): boolean;
  /** The user's way to modules that need no key of the host: `take …`. Undefined: there is none. */
  readyMade(
    host: { readonly arch: string; readonly packages: Readonly<Record<string, string>> },
    spec: DriverSpec,
    flavor: Flavor,
  ): string | undefined;
}

/** A host's kernels and build tools. */
export interface BuildHost {
  /** The running kernel, then the newest newer one that is installed, if any. */
  readonly kernels: readonly {
    readonly release: string;
    readonly headers: boolean;
    readonly driver: boolean;
  }[];
  /** Programs that are missing. */
  readonly lacksToBuild: readonly string[];
  /** Installed packages: name → version. */
  readonly packages: Readonly<Record<string, string>>;
  readonly held: readonly string[];
}

/** The packages that build modules for a host's kernels, now and after upgrades. */
export interface Build {
  /** Names for messages. Empty: nothing is missing. */
  readonly packages: readonly string[];
  /** Shell text for `before` of the transaction that installs them. It fails with what no source offers. */
  readonly script: string;
  /** The newer kernel that boots next, if a package installed it. */
  readonly next: BuildHost['kernels'][number] | undefined;
}

/** Returns the kernels that modules are built for, and the next one that boots. `scope` `next`: without the running kernel. */
export function kernelsToBuild(
  { kernels: [running, newer], packages }: BuildHost,
  scope: 'all' | 'next',
  isPackaged: (release: string, packages: BuildHost['packages']) => boolean,
): {
  readonly kernels: BuildHost['kernels'];
  readonly lacking: readonly string[];
  readonly next: Build['next'];
} {
  const next = newer !== undefined && isPackaged(newer.release, packages) ? newer : undefined;
  const kernels = [...(scope === 'all' ? [running] : []), next].filter((each) => each !== undefined);
  const lacking = kernels.filter(({ headers }) => !headers).map(({ release }) => release);
  return { kernels, lacking, next };
}

/** Shell functions `need NAME WHAT NEXT` and `want NAME`: add a package to `$build`; `need` fails where no source offers it. */
export const needFunctions = `build=
want() {
  if [ -n "$(offered "$1")" ]; then build="$build $1"; fi
}
need() {
  [ -n "$(offered "$1")" ] || fail "no package source offers $2" "$1" 'only other versions, if any' "$3"
  build="$build $1"
}`;

/** Shell text: installs the packages in `$build`. */
export const bringNeeded = `if [ -n "$build" ]; then
  # Package names hold no blanks, and are meant to be split.
  # shellcheck disable=SC2086
  bring $build
fi`;

/** System libraries that a program lacks. */
export interface Libraries {
  /** Name for messages: `ICU`. */
  readonly missing: readonly string[];
  /** Shell text for `before` of the transaction that installs them. It fails with what no source offers. */
  readonly script: string;
}

/** One library with its package names on all systems of a family, the newest first. */
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

/** Shell function `first WHAT NAME…`: adds the first name that a source offers to `$libraries`. */
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
