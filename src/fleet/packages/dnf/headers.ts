import { sh } from '../../../shared/base/shell.ts';
import type { Build, BuildHost } from '../names.ts';

/**
 * The headers of the running kernel (unless only the next one matters) and of the kernel that boots next; the compiler, and
 * make. Those of kernels to come follow by themselves: dnf installs the newest kernel-devel beside the others whenever it
 * brings a kernel. Oracle's may want another compiler than the system's.
 */
export function kernelBuild(host: BuildHost, scope: 'all' | 'next'): Build {
  const [running, newer] = host.kernels;
  const next = newer !== undefined && isPackaged(newer.release, host.packages) ? newer : undefined;
  const kernels = [...(scope === 'all' ? [running] : []), next].filter((each) => each !== undefined);
  const releases = kernels.filter(({ headers }) => !headers).map(({ release }) => release);
  const tools = host.lacksToBuild.filter((tool) => !/-\d+$/.test(tool));
  const toolset = toolsetOf(kernels.map(({ release }) => release));
  const packages = [
    ...releases.flatMap((release) => headersOf(release)),
    ...(toolset === undefined || releases.length === 0 ? [] : [toolset.package]),
    ...tools,
  ];
  const lines = [
    ...releases.map((release) => needHeaders(release, release === running?.release ? next : undefined)),
    ...(toolset === undefined ? [] : [toolset.need]),
    ...tools.map((tool) => sh`need ${tool} ${tool} 'complete the mirror'`),
  ];
  const used = toolset === undefined ? [] : [toolset.use];
  const script = lines.length === 0 ? '' : [functions, ...lines, finish, ...used].join('\n');
  return { packages, script, next };
}

/**
 * The packages that a module for this kernel is built with. Oracle's kernel, the one with 64 KiB pages and the real-time
 * one have their own; Amazon Linux puts the number of newer kernels into the name (`kernel6.12-devel`), and keeps what
 * NVIDIA's modules lean on in one more package (aws/aws-parallelcluster-cookbook).
 */
export function headersOf(release: string): string[] {
  const full = release.replace(/\+.*$/, '');
  const amazon = /^(\d+\.\d+)\..*\.amzn2023\./.exec(release)?.[1];
  if (amazon !== undefined) {
    const kernel = amazon === '6.1' ? 'kernel' : `kernel${amazon}`;
    return [`${kernel}-devel-${full}`, `${kernel}-modules-extra-${full}`];
  }
  const kind = kinds.find(([pattern]) => pattern.test(release))?.[1] ?? 'kernel';
  return [`${kind}-devel-${full}`];
}

const kinds: readonly (readonly [RegExp, string])[] = [
  [/uek/, 'kernel-uek'],
  [/\+64k/, 'kernel-64k'],
  [/\+rt|\.rt\d/, 'kernel-rt'],
];

/** Installed beside others of its name: found under its full name. */
function isPackaged(release: string, packages: BuildHost['packages']): boolean {
  const full = release.replace(/\+.*$/, '');
  return Object.keys(packages).some((name) => name.endsWith(`-${full}`));
}

function needHeaders(release: string, next: Build['next']): string {
  const way =
    next === undefined
      ? 'upgrade the kernel (sudo dnf upgrade kernel), reboot, run again'
      : `reboot into Linux ${next.release}, which is installed, and run again`;
  const [devel = '', ...more] = headersOf(release);
  return [
    sh`need ${devel} ${`the headers of Linux ${release}`} ${way}`,
    ...more.map((name) => sh`want ${name}`),
  ].join('\n');
}

/** Shell functions. `need NAME WHAT NEXT` and `want NAME` put a package on the list in `$build`. */
const functions = `build=
want() {
  if [ -n "$(offered "$1")" ]; then build="$build $1"; fi
}
need() {
  [ -n "$(offered "$1")" ] || fail "no package source offers $2" "$1" 'only other versions, if any' "$3"
  build="$build $1"
}`;

const finish = `if [ -n "$build" ]; then
  # Package names hold no blanks, and are meant to be split.
  # shellcheck disable=SC2086
  bring $build
fi`;

/**
 * Oracle's kernels that are built with a newer compiler than the system's first one, and where that one is
 * (dkms-project/dkms, .github/workflows/tests.yml; dkms.8, `build_environment`, from dkms 3.3 on).
 */
const toolsets: readonly (readonly [pattern: RegExp, kernels: string, name: string])[] = [
  [/^5\.15\..*\.el8uek\./, '5.15.*.el8uek.*', 'gcc-toolset-11'],
  [/^6\.12\..*\.el9uek\./, '6.12.*.el9uek.*', 'gcc-toolset-14'],
];

const environment = '/etc/dkms/azp-fleet-compiler.sh';
const setting = '/etc/dkms/framework.conf.d/azp-fleet-compiler.conf';
export const toolsetFiles: readonly string[] = [environment, setting];
export const toolsetFolder = '/etc/dkms';

interface Toolset {
  readonly package: string;
  /** Shell text: puts the package on the list. It needs `need` and `installed`. */
  readonly need: string;
  /** Shell text: has DKMS build for these kernels with it, unless its owner has set something. It needs `put_source`. */
  readonly use: string;
}

/** What else the modules for some of these kernels are built with. */
function toolsetOf(releases: readonly string[]): Toolset | undefined {
  const [found] = toolsets.flatMap(([pattern, kernels, name]) => {
    const release = releases.find((each) => pattern.test(each));
    return release === undefined ? [] : [{ release, kernels, name }];
  });
  if (found === undefined) return undefined;
  const { release, kernels, name } = found;
  const compiler = `${name}-gcc`;
  const text = `# Written by azp-fleet: these kernels are built with a newer compiler than the system's.
# shellcheck shell=sh
case \${kernelver:-} in ${kernels}) . /opt/rh/${name}/enable ;; esac
`;
  return {
    package: compiler,
    need: sh`if [ -z "$(installed ${compiler})" ]; then
  need ${compiler} ${`the compiler of Linux ${release}`} 'complete the mirror'
fi`,
    use: sh`if ! grep -hs '^ *build_environment=' /etc/dkms/framework.conf /etc/dkms/framework.conf.d/*.conf |
  grep -qvF ${environment}; then
  put_source ${environment} ${text}
  put_source ${setting} ${`build_environment="${environment}"\n`}
fi`,
  };
}
