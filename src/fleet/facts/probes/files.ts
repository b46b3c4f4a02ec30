import type { Facts } from '../facts.ts';
import { answerLimit, type FactProbe } from '../probe.ts';
import { packageManagers } from '../../packages/distribution.ts';
import { sha256 } from '../../../shared/base/digest.ts';
import { sh } from '../../../shared/base/shell.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import { releaseOf } from '../../../shared/contract/release.ts';
import { readStatus } from '../../../shared/contract/status.ts';

/** Files that steps write with fixed content, without those of the package managers. */
export const managedFiles = {
  nouveauBlacklist: '/etc/modprobe.d/azp-fleet-nouveau.conf',
  persistence: '/etc/systemd/system/nvidia-persistenced.service.d/azp-fleet.conf',
  /** The daemon's unit, where its installer includes none. */
  persistenced: '/etc/systemd/system/nvidia-persistenced.service',
  managerConfig: HostPaths.config,
  managerCa: HostPaths.caBundle,
  managerUnit: HostPaths.unit,
} as const;

/** Bytes of all texts together; azp-fleet's are some KiB, a site's certificates more. */
const longestTexts = 192 * 1024;

/** Returns the paths, certificates last, so that only their text is cut at the limit. */
function paths(): string[] {
  const trust = packageManagers.map((manager) => manager.trust.file);
  const rest = [...Object.values(managedFiles), ...packageManagers.flatMap((manager) => manager.files)];
  const last = new Set([managedFiles.managerCa, ...trust]);
  return [...rest.filter((path) => !last.has(path)), ...last];
}

/** Reads the files' digests and contents. */
export const filesProbe: FactProbe<Pick<Facts, 'files' | 'texts'>> = {
  name: 'files',
  facts: ['files', 'texts'],
  byHand: sh`sha256sum ${HostPaths.config} ${HostPaths.unit}`,
  script: () =>
    sh`set --
for file in ${paths()}; do
  if [ -f "$file" ]; then set -- "$@" "$file"; fi
done
if [ "$#" -gt 0 ]; then
  sha256sum "$@" || exit
  LC_ALL=C grep -H '' "$@" 2>/dev/null | head -c ${String(longestTexts)}
fi`,
  // A digest with its file, a file with one of its lines, or what grep says about a binary file.
  line: /^([0-9a-f]{64} [ *]\/|\/|Binary file |grep: )/,
  parse: (stdout) => {
    const files = Object.fromEntries(
      [...stdout.matchAll(/^([0-9a-f]{64}) [ *](.+)$/gm)].map(([, digest = '', path = '']) => [path, digest]),
    );
    return { files, texts: wholeTexts(stdout, files) };
  },
};

/** Returns the texts that match their digests; not those of binary or cut files. */
function wholeTexts(stdout: string, files: Facts['files']): Facts['texts'] {
  const byPath = linesByPath(stdout);
  return Object.fromEntries(
    Object.entries(files).flatMap(([path, digest]) => {
      const own = byPath.get(path) ?? [];
      const unended = own.join('\n');
      const text = [`${unended}\n`, unended].find((each) => sha256(each) === digest);
      return text === undefined ? [] : [[path, text]];
    }),
  );
}

/** Groups grep's `path:line` output by path; azp-fleet's paths contain no colon. */
function linesByPath(stdout: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const line of stdout.split('\n')) {
    const colon = line.indexOf(':');
    const path = line.slice(0, Math.max(0, colon));
    const lines = found.get(path) ?? [];
    found.set(path, lines);
    lines.push(line.slice(colon + 1));
  }
  return found;
}

/** The word before the text of a file that exists. */
const present = 'present\n';

/** Reads the text of a file; undefined: it does not exist. One of the limit's size is over it with the word before it. */
export function textOf(path: string): Pick<FactProbe<string | undefined>, 'script' | 'line' | 'parse'> {
  return {
    script: () => sh`if [ -e ${path} ]; then
  echo present
  head -c ${answerLimit} ${path} || exit
fi`,
    line: /^/,
    parse: (output) => {
      if (output === '') return undefined;
      if (!output.startsWith(present)) throw new Error('no text of a file');
      return output.slice(present.length);
    },
  };
}

/** Reads the raw text of dockerd's configuration; undefined: absent. */
export const daemonJsonProbe: FactProbe<string | undefined> = {
  name: 'daemon-json',
  facts: ['docker'],
  byHand: 'cat /etc/docker/daemon.json',
  ...textOf('/etc/docker/daemon.json'),
};

const statusText = textOf(HostPaths.status);

/** Reads the manager's last status; undefined: missing, or of a release that this one does not understand. */
export const managerStatusProbe: FactProbe<Pick<Facts['manager'], 'status' | 'release'>> = {
  name: 'manager-status',
  facts: ['manager'],
  byHand: sh`cat ${HostPaths.status}`,
  ...statusText,
  parse: (output) => {
    const text = statusText.parse(output);
    if (text === undefined) return { status: undefined, release: undefined };
    const status: unknown = JSON.parse(text);
    return { status: readStatus(status), release: releaseOf(status) };
  },
};

/** Reads whether the host's programs trust the site's certificate authority. */
export const siteCaProbe: FactProbe<boolean> = {
  name: 'site-ca',
  facts: ['siteCaTrusted'],
  byHand: sh`ls -l ${packageManagers.map(({ trust }) => trust.file)}`,
  script: () => packageManagers.map(({ trust }) => `if ${trust.trusted}; then echo trusted; fi`).join('\n'),
  line: /^trusted$/,
  parse: (output) => output.startsWith('trusted'),
};
