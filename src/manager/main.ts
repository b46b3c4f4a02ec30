import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createAzureClient } from '../shared/azure/create-client.ts';
import { patCredential, servicePrincipalCredential } from '../shared/azure/http/credential.ts';
import { createPlainFetch, type Fetch } from '../shared/azure/http/proxy.ts';
import { defined } from '../shared/base/objects.ts';
import { sha256 } from '../shared/base/digest.ts';
import type { Logger } from '../shared/base/log.ts';
import type { Secret } from '../shared/base/secret.ts';
import { version } from '../shared/base/version.ts';
import type { ManagerConfig } from '../shared/contract/config.ts';
import { HostPaths, unitMarkVariable } from '../shared/contract/paths.ts';
import { poolsOf } from '../shared/contract/slots.ts';
import { createEngine } from '../shared/engine/docker.ts';
import { type Invocation, parseArguments, usage } from './start/arguments.ts';
import type { Clock } from '../shared/base/clock.ts';
import { machineRoot } from '../shared/base/host-root.ts';
import { practiceOf } from '../shared/base/practice.ts';
import { followCommand, runCommand } from './machine/command.ts';
import { runClient } from './start/client-commands.ts';
import { complaint, journalLogger, castNets } from './start/reporting.ts';
import { runDaemon } from './daemon.ts';
import { ownContainers } from './docker/own-containers.ts';
import { lockMachine } from './machine/machine-lock.ts';
import { diskSpace } from './machine/disk.ts';
import { readProcess } from './machine/process.ts';
import { machineSize } from './machine/machine-facts.ts';
import { RunStore } from './runs/run-store.ts';
import { Helpers } from './docker/janitor.ts';
import { withBundledImages, registryReader, withRegistries } from './image/engine.ts';
import { AgentRoots } from './host-mode/agent-root.ts';
import { Archives } from './machine/archives.ts';
import { AgentStore } from './host-mode/agent-store.ts';
import { NetworkIsolation } from './docker/network-isolation.ts';
import { HostEngine, withHostRuns } from './host-mode/host-engine.ts';
import { readPresence } from './idle/presence.ts';
import { KeyStock } from './registration/keys.ts';
import { Metrics } from './serve/metrics.ts';
import { systemdNotifier } from './serve/systemd.ts';
import { configuration, openState, runPlaces, tokenReader } from './start/configuration.ts';
import { addressReader } from './webhook/post.ts';
import { trustedCertificates } from './docker/agent-setup.ts';

/**
 * Bytes of one answer of Azure DevOps. Read, it takes some ten times as much of the 96 MiB that the unit gives to the heap;
 * sixty agents of a host with all that is told of them have a twentieth of it.
 */
const longestAnswer = 6 * 1024 * 1024;

async function main(): Promise<void> {
  const invocation = parseArguments(process.argv.slice(2));
  const socket = invocation.values.socket ?? HostPaths.socket;
  switch (invocation.command) {
    case 'help':
      process.stdout.write(usage);
      return;
    case 'version':
      process.stdout.write(`${version}\n`);
      return;
    case 'run':
      return run(invocation);
    default:
      process.stdout.write(await runClient(invocation, socket, process.stdout.isTTY));
  }
}

async function run({ values }: Invocation): Promise<void> {
  const [stop, leave] = [new AbortController(), new AbortController()];
  // As a service it comes back in a moment. Alone somebody has ended it: then no agent shall wait for jobs behind it.
  const isService = values.config !== undefined && !process.stdout.isTTY;
  const end = (): void => (isService || leave.signal.aborted ? stop.abort() : leave.abort());
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, end);
  const log = journalLogger((line) => process.stdout.write(line), values.debug ?? false);
  const { config, hash } = await configuration(values);
  const places = runPlaces(values, import.meta.dirname, process.env);
  const secret = tokenReader(places.tokens, log);
  const { clock, note } = practiceOf(process.env);
  if (note !== undefined) log.log('warn', note);
  const metrics = new Metrics();
  castNets(process, join(places.state, 'crashes'), { log, metrics });
  await lockMachine();
  const docker = createEngine({ socketPath: places.docker });
  const roots = new AgentRoots(places.agents, {
    command: runCommand,
    docker,
    log,
    jobsUseDocker: config.jobs.docker,
  });
  const hostEngine = new HostEngine(join(places.state, 'host'), roots, runCommand, clock);
  const caPem = await siteCa(config);
  const machineId = (await readFile('/etc/machine-id', 'utf8').catch(() => hostname())).trim();
  const state = await openState(values, places.state, machineId);
  if (state.damage !== undefined)
    log.log('warn', 'the state was damaged; going on with the one before', { damage: state.damage });
  const archives = new Archives({
    fetch: siteFetch(config, caPem),
    clock,
    log,
    uploads: join(places.state, 'archives'),
    state,
  });
  log.log('info', 'azp-fleet-manager starts', { version, host: config.host, pools: poolsOf(config) });
  await runDaemon(
    {
      config,
      clock,
      root: machineRoot,
      log,
      signal: stop.signal,
      leaving: leave.signal,
      engine: withHostRuns(
        ownContainers(
          withBundledImages(
            withRegistries(docker, registryReader(HostPaths.registries, log)),
            join(places.state, 'manifests'),
          ),
          () => state.owner,
        ),
        hostEngine,
      ),
      host: {
        engine: hostEngine,
        agents: new AgentStore(join(places.state, 'agents'), archives, runCommand),
      },
      azure: azureClient(config, secret, siteFetch(config, caPem), { clock, log, signal: stop.signal }),
      archives,
      state,
      runStore: new RunStore(join(places.state, 'runs')),
      keys: new KeyStock(2),
      secret,
      certificates: () => trustedCertificates(config.proxy, HostPaths.caBundle),
      metrics,
      helpers: new Helpers(),
      command: runCommand,
      follow: followCommand,
      machine: machineSize(),
      isolation: new NetworkIsolation({ command: runCommand, engine: docker, log }),
      process: (pid) => readProcess(pid, '/proc', () => clock.wall()),
      presence: () =>
        readPresence(
          { systemd: '/run/systemd', proc: '/proc', changes: HostPaths.changes },
          { command: runCommand, process: (pid) => readProcess(pid, '/proc', () => clock.wall()) },
        ),
      webhook: { fetch: siteFetch(config, caPem), address: addressReader(HostPaths.webhook, log) },
      diskSpace,
    },
    places,
    systemdNotifier(process.env),
    {
      configHash: hash,
      started: {
        program: import.meta.dirname,
        ...defined({ unit: process.env[unitMarkVariable], ca: caPem && sha256(caPem) }),
      },
    },
  );
}

async function siteCa({ proxy }: ManagerConfig): Promise<string | undefined> {
  return proxy.ca ? readFile(HostPaths.caBundle, 'utf8') : undefined;
}

function siteFetch({ proxy }: ManagerConfig, caPem: string | undefined): Fetch {
  return createPlainFetch({ ...proxy, ...defined({ caPem }) });
}

function azureClient(
  config: ManagerConfig,
  read: () => Promise<Secret>,
  fetch: Fetch,
  tools: { readonly clock: Clock; readonly log: Logger; readonly signal: AbortSignal },
) {
  const { credential } = config;
  return createAzureClient({
    organization: config.organization,
    credential:
      credential.kind === 'pat'
        ? patCredential(read)
        : servicePrincipalCredential({
            ...credential,
            secret: read,
            fetch,
            clock: tools.clock,
            onPause: (ms) =>
              tools.log.log('info', 'waiting before Microsoft Entra ID is asked again', { ms }),
          }),
    ...tools,
    fetch,
    longestAnswer,
    userAgent: `azp-fleet-manager/${version}`,
  });
}

try {
  await main();
} catch (error) {
  const { text, exitCode } = complaint(error);
  process.stderr.write(text);
  process.exitCode = exitCode;
}
// What was left unfinished (a probe, a build) must not keep the process.
process.exit();
