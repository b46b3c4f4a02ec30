import { FleetError } from '../../shared/base/errors.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import type { Secret } from '../../shared/base/secret.ts';
import { tar, untar } from '../../shared/base/tar.ts';
import { agentNetwork, Labels } from '../../shared/contract/paths.ts';
import { helperLabels } from '../../shared/engine/helpers.ts';
import { AgentLayout } from '../../shared/image/layout.ts';
import { bundleFile, bundleIn, writableHome } from '../docker/agent-setup.ts';
import { environment, type LaunchOrder, type Registration } from '../docker/container.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import type { Helpers } from '../docker/janitor.ts';

const deadlineMs = 120_000;
const longestLine = 300;

/** Reads the secret from stdin, so that it is in no argument, file, image or environment that Docker shows. */
export const configScript = `IFS= read -r secret
export "$SECRET_INPUT=$secret"
unset secret
${writableHome}
cd ${AgentLayout.root} && exec ./config.sh "$@"`;

export interface ConfigTools extends Pick<ManagerDeps, 'engine' | 'config'> {
  readonly helpers: Helpers;
  /** Reads the credential. */
  readonly secret: () => Promise<Secret>;
  /** Reads all certificates to trust at this site as PEM; undefined: the defaults. */
  readonly certificates: () => Promise<string | undefined>;
}

/**
 * Registers with the agent's own config.sh in a container that never runs a job, and returns the three files that it
 * wrote. Slower than REST by the start of a container and some 10 s; for servers that refuse REST.
 */
export function configureInContainer(tools: ConfigTools, order: LaunchOrder): Promise<Registration['files']> {
  const name = `${order.slot.agent}-config`;
  return tools.helpers.during(name, () => configure(tools, order, name));
}

async function configure(
  tools: ConfigTools,
  order: LaunchOrder,
  name: string,
): Promise<Registration['files']> {
  const { engine, config } = tools;
  const labels = { ...helperLabels('config', config.host, deadlineMs), [Labels.slot]: order.slot.name };
  for (const left of await engine.listOwn({ [Labels.kind]: 'config', [Labels.slot]: order.slot.name })) {
    await engine.remove(left.id);
  }
  const login = loginOf(tools);
  const id = await engine.create(name, {
    Image: order.image,
    Labels: labels,
    // Overrides the image's user: config.sh refuses root.
    User: `${AgentLayout.uid}:${AgentLayout.gid}`,
    Entrypoint: ['/bin/sh', '-c', configScript, 'config'],
    Cmd: [...configArguments(tools, order), ...login.args],
    Env: [...environment(config, order.slot, 'cdi'), `SECRET_INPUT=VSTS_AGENT_INPUT_${login.input}`],
    OpenStdin: true,
    StdinOnce: true,
    HostConfig: {
      NetworkMode: agentNetwork,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      LogConfig: { Type: 'json-file', Config: {} },
    },
  });
  try {
    await putCertificates(tools, id);
    await engine.startWithInput(id, `${(await tools.secret()).reveal()}\n`);
    const code = await engine.awaitEnd(id, deadlineMs);
    if (code !== 0) throw refused(await engine.logs(id, 40), code, order.pool.name);
    return await Promise.all(
      [AgentLayout.agentFile, AgentLayout.credentialsFile, AgentLayout.keyFile].map(async (file) => {
        const archive = await engine.getArchive(id, `${AgentLayout.root}/${file}`);
        const files = await untar(archive);
        return { name: file, content: files.get(file)?.toString('utf8') ?? '' };
      }),
    );
  } finally {
    await engine.remove(id);
  }
}

async function putCertificates({ engine, certificates }: ConfigTools, id: string): Promise<void> {
  const files = bundleFile(await certificates());
  if (files.length === 0) return;
  const owner = { mode: 0o600, uid: AgentLayout.uid, gid: AgentLayout.gid };
  const entries = files.map(({ name, content }) => ({
    path: name,
    content: Buffer.from(content),
    ...owner,
  }));
  await engine.putArchive(id, AgentLayout.root, await tar(entries));
}

function configArguments({ config }: ConfigTools, order: LaunchOrder): string[] {
  const { proxy } = config;
  const proxyUrl = proxy.https ?? proxy.http;
  return [
    '--unattended',
    '--acceptTeeEula',
    '--replace',
    '--url',
    config.organization,
    '--pool',
    order.pool.name,
    '--agent',
    order.slot.agent,
    '--work',
    '_work',
    ...(proxyUrl === undefined ? [] : ['--proxyurl', proxyUrl]),
    ...(proxy.ca ? ['--sslcacert', bundleIn(AgentLayout.root)] : []),
  ];
}

function loginOf({ config }: ConfigTools): { readonly args: readonly string[]; readonly input: string } {
  const { credential } = config;
  if (credential.kind !== 'service-principal') return { args: ['--auth', 'pat'], input: 'TOKEN' };
  const ids = ['--clientid', credential.clientId, '--tenantid', credential.tenantId];
  return { args: ['--auth', 'sp', ...ids], input: 'CLIENTSECRET' };
}

function refused(log: string, code: number | undefined, pool: string): FleetError {
  return new FleetError({
    code: 'agent.not-configured',
    what:
      code === undefined
        ? `config.sh did not register the agent within ${deadlineMs / 1000} s`
        : 'config.sh could not register the agent',
    seen: refusalIn(log),
    next: `check the credential, its rights in pool ${pool}, and the network from a container of the host`,
  });
}

/** Lines that config.sh prints on its way, or beside a cause (strings.json and config.sh of the agent, v4 and v5). */
const besideCause: readonly RegExp[] = [
  /^>> .*:$/,
  /^(?:Connecting to server \.\.\.|Connecting to the server\.|Scanning for tool capabilities\.|Testing agent connection\.)$/,
  // With --replace not a refusal: the agent of this name is replaced next.
  /^Pool .+ already contains an agent with name .+\.$/,
  /^Successfully (?:added|replaced) the agent$/,
  /^Retrying to replace agent /,
  /Try again or ctrl-c to quit/i,
  /^SocketException occurred\.$/,
  /^(?:Verify whether you have \(network\) access|URLs the agent need communicate with) /,
  /^Execute \.\/bin\/installdependencies\.sh /,
];

/**
 * Returns the line of config.sh's output that names why it failed: the last one that is neither progress nor advice. Where a
 * replacement fails, config.sh starts over until it is ended, so the cause is in the middle. Pure.
 */
export function refusalIn(log: string): string {
  const lines = log
    .split('\n')
    .map((line) => foreignLine(line, longestLine).trim())
    .filter((line) => line !== '');
  const cause = lines.findLast((line) => !besideCause.some((pattern) => pattern.test(line)));
  return (cause ?? lines.at(-1) ?? 'no output').replace(/^An error occurred: /, '');
}
