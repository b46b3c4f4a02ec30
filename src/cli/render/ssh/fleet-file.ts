import { includeLine, type OwnFiles } from '../../../fleet/ssh/config/user-config.ts';
import type { FleetFile, HostInFile } from '../../../fleet/ssh/fleet-file.ts';
import { count } from '../inventory.ts';

/** What would be written: the configuration itself, so that it can go into a file, and around it where it belongs as comments. */
export function fleetFileText(file: FleetFile, files: OwnFiles): string {
  const keys = file.keys === '' ? [] : [`# ${files.keys}:`, ...commented(file.keys), ''];
  return [
    `# ${files.config}, at its top:`,
    ...commented(includeLine(files)),
    '',
    ...keys,
    `# ${files.hosts}:`,
    file.text.trimEnd(),
    '',
    ...notes(file.hosts),
    '# Nothing is written yet: add --write',
    '',
  ].join('\n');
}

export function writtenText({ hosts, keys }: FleetFile, files: OwnFiles): string {
  const named = hosts.filter((host) => !('problem' in host));
  const pinned =
    keys === '' ? '' : `; ${count(keys.trimEnd().split('\n').length, 'pinned key')} in ${files.keys}`;
  return [
    `${count(named.length, 'host')} in ${files.hosts}${pinned}`,
    `${files.config} includes it; --remove takes it away`,
    ...notes(hosts).map((line) => line.replace(/^# /, '')),
    ...(named[0] === undefined ? [] : [`Next: ssh ${named[0].host}`]),
    '',
  ].join('\n');
}

function notes(hosts: readonly HostInFile[]): readonly string[] {
  return hosts.flatMap((host) =>
    'problem' in host || host.added.length === 0
      ? []
      : [`# ${host.host}: ssh adds what its configuration says for this name: ${host.added.join(', ')}`],
  );
}

function commented(text: string): readonly string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `#   ${line}`);
}
