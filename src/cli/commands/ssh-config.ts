import path from 'node:path';

import { SshResolver } from '../../fleet/ssh/config/resolver.ts';
import { includeLine, ownFiles, type OwnFiles, ConfigCopy } from '../../fleet/ssh/config/user-config.ts';
import { composeFleetFile, type FleetFile, type HostInFile } from '../../fleet/ssh/fleet-file.ts';
import { holdsOthers, removeFleetFile, writeFleetFile } from '../../fleet/ssh/write-fleet-file.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, usageError } from '../../shared/base/errors.ts';
import { confirm } from '../ask.ts';
import type { CommandInput } from '../command.ts';
import { count } from '../render/lines.ts';
import { declined, problemsAmong, type Result } from '../result.ts';
import { openHosts } from '../run/inventory.ts';
import { withoutSecrets } from '../run/secrets.ts';

/** Prints, writes or removes the hosts' SSH configuration. Contacts no host. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const { options } = input;
  const [write, remove] = [options.flag('write'), options.flag('remove')];
  if (write && remove) throw bothWays();
  const files = ownFiles(context.home);
  if (remove) {
    const removed = removeFleetFile(files);
    const text = (): string =>
      removed.length === 0 ? 'nothing to remove\n' : `removed: ${removed.join(', ')}\n`;
    return { exitCode: ExitCode.ok, json: { hosts: [], files: removed, written: false }, text };
  }
  const file = await compose(context, input);
  const problems = problemsAmong(file.hosts);
  if (write && holdsOthers(files, path.resolve(context.cwd, input.inventory))) {
    const question = `${files.hosts} has the hosts of another inventory. Replace them?`;
    if (!options.flag('yes') && !(await confirm(context, question))) return declined;
  }
  if (write) writeFleetFile(files, file);
  return {
    exitCode: problems.length > 0 ? ExitCode.usage : ExitCode.ok,
    json: {
      hosts: file.hosts,
      files: [
        { file: files.config, text: includeLine(files) },
        { file: files.hosts, text: file.text },
        ...(file.keys === '' ? [] : [{ file: files.keys, text: file.keys }]),
      ],
      written: write,
    },
    problems,
    aside: problems,
    text: () => (write ? writtenText(file, files) : fleetFileText(file, files)),
    ...(write ? {} : { to: context.stdout }),
  };
}

async function compose(context: Context, input: CommandInput): Promise<FleetFile> {
  const { fleet, hosts } = openHosts(context, input);
  const { home, user } = context;
  const files = ownFiles(home);
  const configCopy = new ConfigCopy(files);
  const env = withoutSecrets(context.env, fleet);
  let notice: string | undefined;
  const resolver = new SshResolver({
    home,
    user,
    env,
    notice: (line) => (notice = line),
    hosts: fleet.hosts,
  });
  try {
    await resolver.files('none');
    if (notice !== undefined) throw noSsh();
    return await composeFleetFile(hosts, fleet.hosts, {
      files,
      inventory: path.resolve(context.cwd, input.inventory),
      resolver,
      configCopy,
      log: context.log,
    });
  } finally {
    resolver.close();
    configCopy.remove();
  }
}

function bothWays(): Error {
  return usageError({
    code: 'usage.option',
    what: '--write and --remove cannot be combined',
    next: 'use one of them',
  });
}

function noSsh(): Error {
  return usageError({
    code: 'ssh.no-openssh',
    what: 'cannot start ssh',
    next: 'install the OpenSSH client',
  });
}

/** Returns the configuration that would be written, with comments on where it belongs. */
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
    '# Nothing is written yet: run it with --write',
    '',
  ].join('\n');
}

export function writtenText({ hosts, keys }: FleetFile, files: OwnFiles): string {
  const named = hosts.filter((host) => !('problem' in host));
  const pinned =
    keys === '' ? '' : `; ${count(keys.trimEnd().split('\n').length, 'pinned key')} in ${files.keys}`;
  return [
    `${count(named.length, 'host')} in ${files.hosts}${pinned}`,
    `${files.config} includes it; to remove it, run azp-fleet ssh-config --remove`,
    ...notes(hosts).map((line) => line.replace(/^# /, '')),
    ...(named[0] === undefined ? [] : [`Next: ssh ${named[0].host}`]),
    '',
  ].join('\n');
}

function notes(hosts: readonly HostInFile[]): readonly string[] {
  return hosts.flatMap((host) =>
    'problem' in host || host.added.length === 0
      ? []
      : [`# ${host.host}: ssh adds options of its configuration for this name: ${host.added.join(', ')}`],
  );
}

function commented(text: string): readonly string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `#   ${line}`);
}
