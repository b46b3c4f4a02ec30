import path from 'node:path';

import { parseFleet } from '../../fleet/inventory/load.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, usageError } from '../../shared/base/errors.ts';
import { defined } from '../../shared/base/objects.ts';
import type { CommandInput } from '../command.ts';
import type { Result } from '../result.ts';
import { poolMistake } from '../setup/agents.ts';
import { distinctNames, parseHost, sameName } from '../setup/host-notation.ts';
import { inventoryText, schemaPlace, writeInventory } from '../setup/inventory-file.ts';
import { readOrganization } from '../setup/organization-forms.ts';
import { sshConfigHosts } from '../setup/ssh-hosts.ts';

export async function run(context: Context, { options, positionals }: CommandInput): Promise<Result> {
  const file = options.string('output') ?? 'inventory.yaml';
  const pool = options.string('pool') ?? 'gpu-lab';
  const mistake = poolMistake(pool);
  if (mistake !== undefined)
    throw usageError({
      code: 'usage.option',
      what: '--pool is not a valid pool name',
      expected: mistake,
      seen: pool,
    });
  const { organization, project } = readOrganization(needed(options.string('organization')));
  const sshConfig = options.sshConfig(context.cwd);
  const known = new Set((await sshConfigHosts(context, sshConfig)).map((host) => host.name));
  const typed = [...new Set(positionals)].map((host) => parseHost(host, (name) => known.has(name)));
  const twice = sameName(typed);
  if (twice !== undefined) throw namedTwice(twice);
  const projects = options.list('project');
  const schema = schemaPlace(path.dirname(path.resolve(context.cwd, file)));
  const text = inventoryText({
    organization,
    credential: { kind: 'pat', token: { env: 'AZP_TOKEN' } },
    ...defined({ sshConfig, schema }),
    projects: projects.length === 0 && project !== undefined ? [project] : projects,
    pool,
    agents: 'one-per-gpu',
    share: false,
    hosts: distinctNames(typed),
    datasets: [],
  });
  parseFleet(text, file, context);
  writeInventory(path.resolve(context.cwd, file), text, { replace: false });
  return {
    exitCode: ExitCode.ok,
    json: { file: path.resolve(context.cwd, file) },
    text: () => `${file} written\nNext: review it, then run azp-fleet plan ${file}\n`,
  };
}

/** Returns the organization; it has no default, because a wrong one would fail only at the end. */
function needed(organization: string | undefined): string {
  if (organization !== undefined) return organization;
  throw usageError({
    code: 'usage.option',
    what: 'init needs an organization',
    expected: '--organization NAME, or a URL of it',
    next: 'run it again with --organization; it is in the URL in the browser: https://dev.azure.com/NAME',
  });
}

function namedTwice(name: string): Error {
  return usageError({
    code: 'usage.host',
    what: `duplicate host ${name}`,
    expected: 'one entry for each machine',
    seen: `two hosts called ${name}`,
    next: 'remove one, or name both machines: name=address:port',
  });
}
