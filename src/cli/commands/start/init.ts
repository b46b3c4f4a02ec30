import path from 'node:path';

import { organizationUrl } from '../../../azure/url.ts';
import { defined } from '../../../base/defined.ts';
import type { Context } from '../../../base/context.ts';
import { ExitCode } from '../../../base/errors.ts';
import { parseFleet } from '../../../inventory/load.ts';
import { distinctNames, parseHost } from '../../../setup/host-notation.ts';
import { inventoryText } from '../../../setup/inventory-text.ts';
import { sshConfigHosts } from '../../../setup/ssh-hosts.ts';
import { writeInventory } from '../../../setup/write.ts';
import type { CommandInput } from '../../command.ts';
import { refuseControl } from '../../options.ts';
import type { Result } from '../../result.ts';

export async function run(context: Context, { options, positionals }: CommandInput): Promise<Result> {
  const file = options.string('output') ?? 'inventory.yaml';
  const pool = options.string('pool') ?? 'gpu-lab';
  refuseControl([pool], '--pool');
  const sshConfig = options.sshConfig(context.cwd);
  const known = new Set((await sshConfigHosts(context, sshConfig)).map((host) => host.name));
  const text = inventoryText({
    organization: organizationUrl(options.string('organization') ?? 'https://dev.azure.com/example'),
    token: { env: 'AZP_TOKEN' },
    ...defined({ sshConfig }),
    projects: options.list('project'),
    pool,
    agents: 'one-per-gpu',
    share: false,
    hosts: distinctNames(positionals.map((host) => parseHost(host, (name) => known.has(name)))),
    datasets: [],
  });
  parseFleet(text, file, context);
  writeInventory(path.resolve(context.cwd, file), text, { replace: false });
  return {
    exitCode: ExitCode.ok,
    json: { file: path.resolve(context.cwd, file) },
    text: () => `${file} written\nNext: look it over, then azp-fleet plan ${file}\n`,
  };
}
