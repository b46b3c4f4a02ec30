import { sh } from '../../../shared/base/shell.ts';
import { bringNeeded, kernelsToBuild, needFunctions, type Build, type BuildHost } from '../names.ts';

/**
 * Returns the headers of the running kernel (unless only the next one matters) and of the kernel that boots next, the compiler, and
 * make. dnf installs kernel-devel with each later kernel. Oracle's kernels may need another compiler than the system's.
 */
export function kernelBuild(host: BuildHost, scope: 'all' | 'next'): Build {
  const { kernels, lacking, next } = kernelsToBuild(host, scope, isPackaged);
  const running = host.kernels[0]?.release;
  const tools = host.lacksToBuild.filter((tool) => !/-\d+$/.test(tool));
  const toolset = toolsetOf(kernels.map(({ release }) => release));
  const packages = [
    ...lacking.flatMap((release) => headersOf(release)),
    ...(toolset === undefined || lacking.length === 0 ? [] : [toolset.package]),
    ...tools,
  ];
  const lines = [
    ...lacking.map((release) => needHeaders(release, release === running ? next : undefined)),
    ...(toolset === undefined ? [] : [toolset.need]),
    ...tools.map((tool) => sh`need ${tool} ${tool} 'complete the mirror'`),
  ];
  const used = toolset === undefined ? [] : [toolset.use];
  const script = lines.length === 0 ? '' : [needFunctions, ...lines, bringNeeded, ...used].join('\n');
  return { packages, script, next };
}

/**
 * Returns the packages that build a module for a kernel. Oracle's kernel, the one with 64 KiB pages and the real-time kernel have
 * separate packages. Amazon Linux names newer kernels by number (`kernel6.12-devel`), and NVIDIA's modules need one more package
 * there (aws/aws-parallelcluster-cookbook).
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

/** Tells whether a package installed the kernel, by the full name, because several kernels may be installed. */
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

/**
 * Oracle's kernels that are built with a newer compiler than the system's, and the package with that compiler
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
  /** Shell text: adds the package to `$build`. It needs `need` and `installed`. */
  readonly need: string;
  /** Shell text: makes DKMS build with it for these kernels, unless the host's owner configured another. It needs `put_source`. */
  readonly use: string;
}

/** Returns the compiler that some of these kernels need beside the system's. */
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
