import type { Context } from '../../../base/context.ts';
import { ExitCode } from '../../../base/errors.ts';
import { loadFleet } from '../../../inventory/load.ts';
import { selectHosts } from '../../../inventory/select.ts';
import { describeConnection } from '../../../ssh/config/describe.ts';
import { resolveConnection } from '../../../ssh/config/resolve.ts';
import { realWorld } from '../../../ssh/config/world.ts';
import { agentNames, hostYaml } from '../../../render/inventory.ts';
import type { CommandInput } from '../../command.ts';

export function run(context: Context, { inventory, options, positionals }: CommandInput): Promise<ExitCode> {
  const fleet = loadFleet(inventory, context);
  const world = realWorld(context.home, context.user, context.env);
  const files = { user: `${context.home}/.ssh/config`, system: '/etc/ssh/ssh_config' };
  const shown = selectHosts(fleet, [...options.list('limit'), ...positionals]).map((host) => ({
    host,
    connection: describeConnection(resolveConnection(host.name, host.ssh, files, world, context.env)),
  }));
  const [first, ...more] = shown.map(({ host, connection }) => ({
    ...host,
    agentNames: agentNames(host),
    connection,
  }));
  const text = options.flag('json')
    ? JSON.stringify(more.length === 0 ? first : [first, ...more], undefined, 2)
    : shown.map(({ host, connection }) => hostYaml(host, connection)).join('\n');
  context.stdout.write(`${text.trimEnd()}\n`);
  return Promise.resolve(ExitCode.ok);
}
