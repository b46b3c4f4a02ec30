import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import { checkReferences } from '../../fleet/inventory/references.ts';
import { type ConnectionDescription, describeConnection } from '../../fleet/ssh/config/options.ts';
import { SshResolver } from '../../fleet/ssh/config/resolver.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, type Problem } from '../../shared/base/errors.ts';
import { hostProblem } from '../../shared/base/host-trouble.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { CommandInput } from '../command.ts';
import { agentNames, fleetSummary, hostTable, hostYaml } from '../render/inventory.ts';
import { say } from '../render/lines.ts';
import type { Result } from '../result.ts';
import { openHosts, openInventory } from '../run/hosts.ts';
import { withoutSecrets } from '../run/secrets.ts';

const notWrong: ReadonlySet<string> = new Set(['inventory.variable', 'inventory.token-expires']);

/**
 * Checks the inventory. Mistakes and missing files or variables are usage errors; conditions of this shell only, and a
 * token that expires soon, are warnings.
 */
export function runCheck(context: Context, { inventory }: CommandInput): Promise<Result> {
  const fleet = openInventory(context, inventory);
  const { file, organization, hosts } = fleet;
  const found = checkReferences(fleet, { env: context.env, now: context.clock.wall() });
  const warnings = found.filter(({ code }) => notWrong.has(code));
  const missing = found.filter(({ code }) => !notWrong.has(code));
  return Promise.resolve({
    exitCode: missing.length > 0 ? ExitCode.usage : ExitCode.ok,
    json: { file, organization, hosts: hosts.length, warnings },
    problems: missing,
    text: () => `${inventory}: ${fleetSummary(fleet)}\n`,
    warnings,
    aside: missing,
  });
}

export function runList(context: Context, input: CommandInput): Promise<Result> {
  const { hosts } = openHosts(context, input);
  const text = () => `${hostTable(hosts, context.stdout.columns ?? Infinity).join('\n')}\n`;
  return Promise.resolve({ exitCode: ExitCode.ok, json: { hosts }, text });
}

/** Shows hosts with all defaults. A host that ssh's configuration does not resolve is shown without a connection. */
export async function runShow(context: Context, input: CommandInput): Promise<Result> {
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
