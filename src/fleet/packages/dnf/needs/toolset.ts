import { sh } from '../../../../shared/base/shell.ts';

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
export function toolsetOf(releases: readonly string[]): Toolset | undefined {
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
