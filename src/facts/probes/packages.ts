import { sh } from '../../base/shell.ts';
import type { Facts } from '../facts.ts';
import type { FactProbe } from '../probe.ts';

/** Patterns of package names that some step looks at. */
const packagePatterns = [
  'docker*',
  'containerd*',
  'runc',
  'podman*',
  'kubelet',
  'ca-certificates',
  'cuda-drivers*',
  'cuda-keyring',
  'nvidia-*',
  'libnvidia-*',
] as const;

/** The installed packages and the holds come from one read of dpkg's status file; apt's tools cost ten times that. */
export const packagesProbe: FactProbe<Pick<Facts, 'packages' | 'held'>> = {
  name: 'packages',
  script: () => `if command -v dpkg-query >/dev/null; then
  dpkg-query -W -f='\${db:Status-Status} \${db:Status-Want} \${Package} \${Version}\\n' ${sh`${packagePatterns}`} 2>/dev/null || :
fi`,
  parse: ({ stdout }) => {
    const packages: Record<string, string> = {};
    const held: string[] = [];
    for (const line of stdout.split('\n')) {
      const [status, want, name, version] = line.split(' ');
      if (status !== 'installed' || name === undefined || version === undefined) continue;
      packages[name] = version;
      if (want === 'hold') held.push(name);
    }
    return { packages, held: [...new Set(held)].sort() };
  },
};

/**
 * The version of the installed user-space libraries, upstream part only.
 * libnvidia-ml1 is the Debian packages' name, libnvidia-compute[-BRANCH] Ubuntu's.
 */
export function userspaceVersion(packages: Facts['packages']): string | undefined {
  const name = Object.keys(packages)
    .filter((name) => /^(libnvidia-ml1|libnvidia-compute(-\d+(-server)?)?|nvidia-driver-cuda)$/.test(name))
    .sort()
    .at(0);
  return name === undefined ? undefined : upstream(packages[name] ?? '');
}

/** `5:29.7.2-1~debian.12~bookworm` → `29.7.2`; `580.95.05-0ubuntu1` → `580.95.05`. */
export function upstream(version: string): string {
  return version.replace(/^\d+:/, '').replace(/-[^-]*$/, '');
}
