import type { Context } from '../../../base/context.ts';
import { ExitCode } from '../../../base/errors.ts';
import { describeConnection } from '../../../ssh/config/describe.ts';
import { resolveConnection } from '../../../ssh/config/resolve.ts';
import { realWorld } from '../../../ssh/config/world.ts';
import { agentNames, hostYaml } from '../../../render/inventory.ts';
import type { CommandInput } from '../../command.ts';
import { openHosts } from '../../fleet/hosts.ts';
import type { Result } from '../../result.ts';

export function run(context: Context, input: CommandInput): Promise<Result> {
  const world = realWorld(context.home, context.user, context.env);
  const files = { user: `${context.home}/.ssh/config`, system: '/etc/ssh/ssh_config' };
  const shown = openHosts(context, input).hosts.map((host) => ({
    host,
    connection: describeConnection(resolveConnection(host.name, host.ssh, files, world, context.env)),
  }));
  return Promise.resolve({
    exitCode: ExitCode.ok,
    json: {
      hosts: shown.map(({ host, connection }) => ({ ...host, agentNames: agentNames(host), connection })),
    },
    text: () =>
      `${shown
        .map(({ host, connection }) => hostYaml(host, connection))
        .join('\n')
        .trimEnd()}\n`,
  });
}
