import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import { type ConnectionDescription, describeConnection } from '../../fleet/ssh/config/options.ts';
import { SshResolver } from '../../fleet/ssh/config/resolver.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, type Problem } from '../../shared/base/errors.ts';
import { hostProblem } from '../../shared/base/host-trouble.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { CommandInput } from '../command.ts';
import { agentNames, hostYaml } from '../render/inventory.ts';
import { say } from '../render/lines.ts';
import type { Result } from '../result.ts';
import { openHosts } from '../run/inventory.ts';
import { withoutSecrets } from '../run/secrets.ts';

/** Shows hosts with all defaults. A host that ssh's configuration does not resolve is shown without a connection. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const { fleet, hosts } = openHosts(context, input);
  const { home, user } = context;
  const notice = (line: string): void => say(context.stderr, `${line}\n`);
  const env = withoutSecrets(context.env, fleet);
  const ssh = new SshResolver({ home, user, env, notice, hosts: fleet.hosts });
  try {
    const shown = await Promise.all(hosts.map((host) => describe(ssh, host, context.log)));
    const problems = shown.flatMap(({ problem }) => problem ?? []);
    return {
      exitCode: problems.length > 0 ? ExitCode.usage : ExitCode.ok,
      json: {
        hosts: shown.map(({ host, connection }) => ({ ...host, agentNames: agentNames(host), connection })),
      },
      problems,
      aside: problems,
      text: () =>
        `${shown
          .map(({ host, connection }) => hostYaml(host, connection))
          .join('\n')
          .trimEnd()}\n`,
    };
  } finally {
    ssh.close();
  }
}

interface Shown {
  readonly host: HostSpec;
  readonly connection?: ConnectionDescription;
  readonly problem?: Problem;
}

async function describe(ssh: SshResolver, host: HostSpec, log: Logger): Promise<Shown> {
  try {
    return { host, connection: describeConnection(await ssh.resolve(host.name, host.ssh)) };
  } catch (error) {
    return { host, problem: hostProblem(host.name, error, log) };
  }
}
