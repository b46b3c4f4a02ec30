import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createAzureClient } from '../shared/azure/create-client.ts';
import { patCredential, servicePrincipalCredential } from '../shared/azure/http/credential.ts';
import { managedIdentityCredential } from '../shared/azure/http/managed-identity.ts';
import {
  createFetch,
  createTryConnect,
  type Fetch,
  type NetworkSettings,
} from '../shared/azure/http/proxy.ts';
import { defined } from '../shared/base/objects.ts';
import { readerBounds } from '../shared/base/reader-bounds.ts';
import { sha256 } from '../shared/base/digest.ts';
import type { Logger } from '../shared/base/log.ts';
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
import { failureOutput, journalLogger, handleStrayErrors } from './start/reporting.ts';
import { runDaemon } from './daemon.ts';
import type { ManagerTools } from './manager-tools.ts';
import { ownContainers } from './docker/own-containers.ts';
import { readText, readTrusted } from './machine/files.ts';
import { lockMachine } from './machine/machine-lock.ts';
import { containerdRoot, diskSpace } from './machine/disk.ts';
import { readProcess, type ReadProcess } from './machine/process.ts';
import { machineSize } from './machine/machine-facts.ts';
import { RunStore } from './runs/run-store.ts';
import { Helpers } from './docker/janitor.ts';
import { withBundledImages, registryReader, withRegistries } from './image/engine.ts';
import { AgentRoots } from './host-mode/agent-root.ts';
import { Archives } from './machine/archives.ts';
import { AgentStore } from './host-mode/agent-store.ts';
import { NetworkIsolation } from './docker/network-isolation.ts';
import { HostEngine, withHostRuns } from './host-mode/host-engine.ts';
import { History } from './history/history.ts';
import { Ring } from './history/ring.ts';
import { readPresence } from './idle/presence.ts';
import { KeyStock } from './registration/keys.ts';
import { Metrics } from './serve/metrics.ts';
import { systemdNotifier } from './serve/systemd.ts';
import { configuration, openState, runPaths, secretFiles, tokenReader } from './start/configuration.ts';
import { TokenUse } from './start/token-use.ts';
import { addressReader } from './webhook/messenger.ts';
import { trustedCertificates } from './docker/agent-setup.ts';

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

/** What `managerTools` needs; everything else it creates. */
interface Setup extends Pick<ManagerTools, 'config' | 'clock' | 'log' | 'state' | 'history' | 'metrics'> {
  readonly places: ReturnType<typeof runPaths>;
  /** PEM of the site's certificate authority. */
  readonly caPem: string | undefined;
  readonly machineId: string;
  readonly stop: AbortSignal;
  readonly leave: AbortSignal;
}

async function run({ values }: Invocation): Promise<void> {
  const [stop, leave] = [new AbortController(), new AbortController()];
  // systemd restarts a service soon, so its agents keep running. In a terminal the first signal also stops idle agents.
  const isService = values.config !== undefined && !process.stdout.isTTY;
  const end = (): void => (isService || leave.signal.aborted ? stop.abort() : leave.abort());
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, end);
  const log = journalLogger((line) => process.stdout.write(line), values.debug ?? false);
  const { config, hash } = await configuration(values);
  const places = runPaths(values, import.meta.dirname, process.env);
  const { clock, note } = practiceOf(process.env);
  if (note !== undefined) log.log('warn', note);
  const metrics = new Metrics();
  const crashes = handleStrayErrors(process, join(places.state, 'crashes'), { log, metrics, clock });
  await lockMachine();
  const caPem = await siteCa(config);
  const machineId = (await readFile('/etc/machine-id', 'utf8').catch(() => hostname())).trim();
  const state = await openState(values, places.state, machineId);
  if (state.damage !== undefined)
    log.log('warn', 'the state file is damaged or missing; using the previous one', { damage: state.damage });
  const ring = new Ring(join(places.state, 'history.jsonl'));
  const history = await History.open({ ring, clock, log }, machineRoot);
  log.log('info', 'azp-fleet-manager starts', { version, host: config.host, pools: poolsOf(config) });
  await runDaemon(
    managerTools({
      config,
      clock,
      log,
      state,
      history,
      metrics,
      places,
      caPem,
      machineId,
      stop: stop.signal,
      leave: leave.signal,
    }),
    places,
    systemdNotifier(process.env),
    {
      configHash: hash,
      started: {
        program: import.meta.dirname,
        ...defined({ unit: process.env[unitMarkVariable], ca: caPem && sha256(caPem) }),
      },
    },
    crashes,
  );
}

/** Creates the effects of the manager for this machine. */
function managerTools({
  config,
  clock,
  log,
  state,
  history,
  metrics,
  places,
  caPem,
  machineId,
  stop,
  leave,
}: Setup): ManagerTools {
  const tokens = secretFiles(config, places.tokens);
  const isKey = config.credential.kind === 'service-principal' && config.credential.proof === 'certificate';
  const secret = tokenReader(tokens, log, isKey);
  const token = new TokenUse({
    read: secret,
    installed: tokenReader(tokens.slice(0, 1), log, isKey),
    machineId,
    clock,
  });
  const docker = createEngine({ socketPath: places.docker });
  const roots = new AgentRoots(places.agents, {
    command: runCommand,
    docker,
    log,
    jobsUseDocker: config.jobs.docker,
  });
  const hostEngine = new HostEngine(join(places.state, 'host'), roots, runCommand, clock);
  const archives = new Archives({
    fetch: siteFetch(config, caPem),
    clock,
    log,
    uploads: join(places.state, 'archives'),
    state,
  });
  const dockerWithImages = withBundledImages(
    withRegistries(docker, registryReader(HostPaths.registries, log)),
    join(places.state, 'manifests'),
  );
  const processOf: ReadProcess = (pid) => readProcess(pid, '/proc', () => clock.wall());
  return {
    config,
    clock,
    root: machineRoot,
    log,
    signal: stop,
    leaving: leave,
    engine: withHostRuns(
      ownContainers(dockerWithImages, () => state.owner),
      hostEngine,
    ),
    host: {
      engine: hostEngine,
      agents: new AgentStore(join(places.state, 'agents'), archives, runCommand),
    },
    azure: azureClient(config, token, siteFetch(config, caPem), { clock, log, signal: stop }),
    connect: createTryConnect(networkOf(config, caPem)),
    archives,
    state,
    runStore: new RunStore(join(places.state, 'runs')),
    history,
    keys: new KeyStock(2),
    token,
    secret,
    certificates: () => trustedCertificates(config.proxy, HostPaths.caBundle),
    metrics,
    helpers: new Helpers(),
    command: runCommand,
    follow: followCommand,
    machine: machineSize(),
    isolation: new NetworkIsolation({ command: runCommand, engine: docker, log }),
    process: processOf,
    presence: () =>
      readPresence(
        { systemd: '/run/systemd', proc: '/proc', changes: HostPaths.changes },
        { command: runCommand, process: processOf },
      ),
    webhook: { fetch: siteFetch(config, caPem), address: addressReader(HostPaths.webhook, log) },
    diskSpace,
    mountinfo: () => readFile('/proc/self/mountinfo', 'utf8'),
    containerdRoot: () => containerdRoot(),
  };
}

async function siteCa({ proxy }: ManagerConfig): Promise<string | undefined> {
  return proxy.ca ? readText(HostPaths.caBundle) : undefined;
}

function networkOf({ proxy }: ManagerConfig, caPem: string | undefined): NetworkSettings {
  return { ...proxy, ...defined({ caPem }) };
}

function siteFetch(config: ManagerConfig, caPem: string | undefined): Fetch {
  return createFetch(networkOf(config, caPem));
}

function azureClient(
  config: ManagerConfig,
  token: TokenUse,
  fetch: Fetch,
  tools: { readonly clock: Clock; readonly log: Logger; readonly signal: AbortSignal },
) {
  const { credential } = config;
  return createAzureClient({
    organization: config.organization,
    credential: token.follow(
      credential.kind === 'pat'
        ? patCredential(token.read, token.accepted)
        : credential.kind === 'managed-identity'
          ? managedIdentityCredential({
              ...credential,
              readTrusted,
              fetch: createFetch({ noProxy: [] }),
              clock: tools.clock,
            })
          : servicePrincipalCredential({
              ...credential,
              secret: token.read,
              onAccepted: token.accepted,
              fetch,
              clock: tools.clock,
              onPause: (ms) =>
                tools.log.log('info', 'waiting before the next request to Microsoft Entra ID', { ms }),
            }),
    ),
    ...tools,
    fetch,
    largestAnswer: readerBounds.azureOfManager,
    userAgent: `azp-fleet-manager/${version}`,
  });
}

try {
  await main();
} catch (error) {
  const { text, exitCode } = failureOutput(error);
  process.stderr.write(text);
  process.exitCode = exitCode;
}
// An unfinished probe or build must not keep the process running.
process.exit();
