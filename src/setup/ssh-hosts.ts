import type { Context } from '../base/context.ts';
import type { SshSpec } from '../inventory/fleet.ts';
import { includePath } from '../ssh/config/evaluate.ts';
import type { ConfigWorld } from '../ssh/config/outside.ts';
import { parseConfig } from '../ssh/config/parse.ts';
import { resolveConnection } from '../ssh/config/resolve.ts';
import { realWorld } from '../ssh/config/world.ts';

/** A host that ssh_config names. */
export interface KnownHost {
  readonly name: string;
  /** `user@hostname:port`, the port only when it is not 22. */
  readonly leadsTo: string;
}

/** Machines that are in many configurations and never a GPU host. */
const forges = /^(ssh\.)?(github|gitlab|bitbucket|codeberg|dev\.azure|vs-ssh\.visualstudio)\.(com|org)$/;

/** Hosts that the user's ~/.ssh/config names outright (no patterns), files it includes as well. */
export function sshConfigHosts(context: Pick<Context, 'home' | 'user' | 'env'>): KnownHost[] {
  const world = realWorld(context.home, context.user, context.env);
  const files = { user: `${context.home}/.ssh/config`, system: '/etc/ssh/ssh_config' };
  return namesIn(files.user, world, 0)
    .map((name) => ({ name, to: resolveConnection(name, plain, files, world, context.env) }))
    .filter(({ to }) => !forges.test(to.hostname))
    .map(({ name, to }) => ({
      name,
      leadsTo: `${to.user}@${to.hostname}${to.port === 22 ? '' : `:${to.port}`}`,
    }));
}

const plain: SshSpec = { transport: 'builtin', hostKeys: [], hostKeyPolicy: 'accept-new' };

function namesIn(file: string, world: ConfigWorld, depth: number): string[] {
  const text = depth > 16 ? undefined : world.readFile(file);
  if (text === undefined) return [];
  const names = parseConfig(text, file).flatMap(({ keyword, args }) => {
    if (keyword === 'host') return args.filter((name) => !/[*?!]/.test(name));
    if (keyword !== 'include') return [];
    const included = args.flatMap((pattern) => world.glob(includePath(pattern, true, world.home)));
    return included.flatMap((each) => namesIn(each, world, depth + 1));
  });
  return [...new Set(names)];
}
