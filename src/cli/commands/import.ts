import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { fromAnsible } from '../../fleet/inventory/import/ansible.ts';
import {
  type Found,
  type FoundHost,
  type LeftOut,
  newHosts,
  readSource,
  withFound,
} from '../../fleet/inventory/import/found-host.ts';
import { terraformHosts } from '../../fleet/inventory/import/terraform.ts';
import { loadFleet, parseFleet } from '../../fleet/inventory/load.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, usageError } from '../../shared/base/errors.ts';
import { defined } from '../../shared/base/objects.ts';
import { quote } from '../../shared/base/shell.ts';
import type { CommandInput } from '../command.ts';
import { type Options, refuseControl } from '../options.ts';
import { count, wrap, wrapNext } from '../render/lines.ts';
import type { Result } from '../result.ts';
import { inventoryText, schemaPlace, writeInventory } from '../setup/inventory-file.ts';
import { readOrganization } from '../setup/organization-forms.ts';
import { sshConfigEntries } from '../setup/ssh-hosts.ts';

/** Shows the hosts in another program's file; with --write it adds them to the inventory. */
export async function run(context: Context, { options, commandLine }: CommandInput): Promise<Result> {
  const found = await read(context, options);
  const name = options.string('output') ?? 'inventory.yaml';
  const file = path.resolve(context.cwd, name);
  const isNew = !existsSync(file);
  const { added, leftOut } = newHosts(found, isNew ? { hosts: [] } : loadFleet(file, context));
  const text = withFound(
    isNew ? newInventory(options, path.dirname(file)) : readFileSync(file, 'utf8'),
    added,
  );
  const isUnnamed = isNew && options.string('organization') === undefined;
  if (added.length > 0) parseFleet(isUnnamed ? text.replace(unnamed, example) : text, name, context);
  const written = options.flag('write') && added.length > 0;
  const kept = written ? writeInventory(file, text, { replace: !isNew }) : undefined;
  const fragment = isNew ? text : withFound('hosts: {}', added);
  const parts = { file: name, isNew, isUnnamed, fragment, added, leftOut, written, commandLine };
  const shown = { ...parts, ...defined({ kept }) };
  return {
    exitCode: ExitCode.ok,
    json: { file, written, hosts: added, leftOut },
    text: () => importText(shown, (context.stdout.columns ?? 80) - 1),
  };
}

async function read(context: Context, options: Options): Promise<Found> {
  const [ansible, terraform] = [options.string('ansible'), options.string('terraform')];
  const ssh = options.flag('ssh') || options.string('sshConfig') !== undefined;
  if ([ansible !== undefined, terraform !== undefined, ssh].filter(Boolean).length !== 1)
    throw usageError({
      code: 'usage.import',
      what: 'no source to import from',
      expected: 'one of --ansible FILE, --terraform FILE, --ssh and --ssh-config FILE',
      next: 'see azp-fleet inventory import --help',
    });
  if (ansible !== undefined) return fromAnsible(readSource(path.resolve(context.cwd, ansible), ansible));
  if (terraform !== undefined) return terraformHosts(path.resolve(context.cwd, terraform), terraform);
  const given = options.sshConfig(context.cwd);
  return fromSsh(context, given === path.join(context.home, '.ssh/config') ? undefined : given);
}

/** Returns the hosts of an SSH configuration, by name only. `sshConfig`: its file, if not the default. */
async function fromSsh(context: Context, sshConfig: string | undefined): Promise<Found> {
  const entries = await sshConfigEntries(context, sshConfig);
  const hosts = entries.filter(({ isForge }) => !isForge);
  const forges = entries.filter(({ isForge }) => isForge);
  return {
    hosts: hosts.map(({ name }) => ({ name, entry: defined({ sshConfig }), groups: [] })),
    leftOut: forges.map(({ name }) => ({
      what: `host ${name}`,
      why: 'it hosts Git repositories',
    })),
  };
}

/** Placeholder for the organization, which `inventory check` reports. */
const unnamed = 'https://dev.azure.com/NAME';
/** Replaces the placeholder while the rest of the inventory is checked. */
const example = 'https://dev.azure.com/example';

/** Returns a new inventory without hosts. `folder`: the folder of its file. */
function newInventory(options: Options, folder: string): string {
  const pool = options.string('pool') ?? 'gpu-lab';
  refuseControl([pool], '--pool');
  const organization = options.string('organization');
  return inventoryText({
    organization: organization === undefined ? unnamed : readOrganization(organization).organization,
    credential: { kind: 'pat', token: { env: 'AZP_TOKEN' } },
    ...defined({ schema: schemaPlace(folder) }),
    projects: options.list('project'),
    pool,
    agents: 'one-per-gpu',
    share: false,
    hosts: [],
    datasets: [],
  });
}

export interface ShownImport {
  /** As the user named it. */
  readonly file: string;
  readonly isNew: boolean;
  /** True if the file has the placeholder for the organization. */
  readonly isUnnamed: boolean;
  /** The added text; for a new file its whole content. */
  readonly fragment: string;
  readonly added: readonly FoundHost[];
  readonly leftOut: readonly LeftOut[];
  readonly written: boolean;
  /** The backup of the previous file. */
  readonly kept?: string;
  readonly commandLine: string;
}

/** Returns what an import would write or has written, and what it left out. `width`: of a line. */
export function importText(
  { file, isNew, isUnnamed, fragment, added, leftOut, written, kept, commandLine }: ShownImport,
  width: number,
): string {
  const hosts = count(added.length, 'host');
  const done = `${hosts} ${isNew ? 'written to' : 'added to'} ${file}${kept === undefined ? '' : `; backup: ${kept}`}`;
  const would = `${hosts} would be ${isNew ? 'written to' : 'added to'} ${file}:`;
  const head =
    added.length === 0
      ? [`nothing to add to ${file}`]
      : written
        ? [done]
        : [would, '', ...fragment.trim().split('\n')];
  const left = leftOut.flatMap(({ what, why }) =>
    wrap(`${what}: ${why}`, width - 2, 2, 4).map((line) => `  ${line}`),
  );
  const check = `azp-fleet inventory check ${quote(file)}`;
  const last = isUnnamed ? `replace NAME under "organization:" in ${file}, then run: ${check}` : check;
  const command = written ? last : `${commandLine} --write`;
  const shown = wrapNext(`Next: ${command}`, width, 2);
  return [
    ...head,
    ...(left.length === 0 ? [] : ['', 'Left out:', ...left]),
    ...(added.length === 0 ? [] : ['', ...shown]),
    '',
  ].join('\n');
}
