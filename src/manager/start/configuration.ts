import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { sha256 } from '../../shared/base/digest.ts';
import { usageError, FleetError } from '../../shared/base/errors.ts';
import { HostPaths } from '../../shared/contract/paths.ts';
import { everySlot, withAdopted } from '../slots/drains.ts';
import type { Values } from './arguments.ts';
import { readHead, readText } from '../machine/files.ts';
import { StateStore } from '../state.ts';
import { builtImage } from '../../shared/contract/agent-release.ts';
import { configDefaults, type ManagerConfig, type Dataset } from '../../shared/contract/config.ts';
import { organizationUrl } from '../../shared/azure/url.ts';
import { noControl } from '../../shared/base/foreign-text.ts';
import type { Logger } from '../../shared/base/log.ts';
import { readerBounds } from '../../shared/base/reader-bounds.ts';
import { Secret } from '../../shared/base/secret.ts';

/** Paths of a manager. */
export interface RunPaths {
  /** Files of the credential; see tokenReader. */
  readonly tokens: readonly string[];
  readonly state: string;
  /** Folders of agents with `mode: host`; outside the state folder, which only root may enter. */
  readonly agents: string;
  readonly docker: string;
  readonly socket: string;
  readonly status: string;
  /** The build context of the image. */
  readonly context: string;
  /** Archives of top folders. */
  readonly folders: string;
  /** One folder for each durable change. */
  readonly changes: string;
  /** The lock for changes of the host. */
  readonly hostLock: string;
}

/** Returns the paths of a manager. `program`: the folder that it was started from. */
export function runPaths(values: Values, program: string, env: NodeJS.ProcessEnv): RunPaths {
  const state = values.state ?? HostPaths.state;
  const socket = values.socket ?? HostPaths.socket;
  const contexts = [join(program, 'dockeragent'), join(program, '..', 'dockeragent')];
  return {
    tokens: tokenPaths(values['token-file'], env['CREDENTIALS_DIRECTORY'], HostPaths.token),
    state,
    folders: join(state, 'folders'),
    agents: values.state === undefined ? HostPaths.agents : `${resolve(values.state)}-agents`,
    docker: values.docker ?? '/var/run/docker.sock',
    socket,
    changes: join(state, 'changes'),
    hostLock: join(dirname(socket), 'lock'),
    status: values['status-file'] ?? HostPaths.status,
    context: values.context ?? contexts.find((path) => existsSync(path)) ?? join(program, 'dockeragent'),
  };
}

/** Opens the state of this machine's managers; with `--adopt`, every name may be taken over from another owner. */
export async function openState(values: Values, directory: string, machineId: string): Promise<StateStore> {
  const store = await StateStore.open(directory, machineId);
  if (values.adopt === true) {
    await store.update(({ adopt }) => ({ adopt: withAdopted(adopt, [everySlot]) }));
  }
  return store;
}

/** Returns the configuration from the file or, on a standalone machine, from the command line. */
export async function configuration(values: Values): Promise<LoadedConfig> {
  if (values.config !== undefined) return loadConfig(values.config);
  if (values['token-file'] === undefined) {
    throw usageError({
      code: 'manager.usage',
      what: '--token-file is missing',
      next: 'azp-fleet-manager --help',
    });
  }
  const config = standaloneConfig(values, hostname());
  return { config, hash: sha256(JSON.stringify(config)) };
}

export interface LoadedConfig {
  readonly config: ManagerConfig;
  /** sha256 of the file's bytes: the CLI compares it with what it uploaded. */
  readonly hash: string;
}

/** Loads the file, which the CLI has validated. Checks only what would make the daemon fail later. */
async function loadConfig(path: string): Promise<LoadedConfig> {
  const text = await readText(path).catch((cause: unknown) => {
    throw broken(path, 'it cannot be read', cause);
  });
  return { config: parseConfig(text, path), hash: sha256(text) };
}

export function parseConfig(text: string, path: string): ManagerConfig {
  let value: Partial<ManagerConfig>;
  try {
    value = Object(JSON.parse(text)) as Partial<ManagerConfig>;
  } catch (cause) {
    throw broken(path, 'it is not JSON', cause);
  }
  if (value.schema !== 1 && value.schema !== 2)
    throw broken(path, `its schema is ${String(value.schema)}, this manager knows 1 and 2`);
  const needed = ['host', 'organization', 'credential', 'pool'] as const;
  const missing = needed.find((key) => value[key] === undefined);
  if (missing !== undefined) throw broken(path, `"${missing}" is missing`);
  if (!URL.canParse(value.organization ?? '')) throw broken(path, '"organization" is not a URL');
  const image = builtImage(process.arch);
  const config = { image, ...configDefaults, ...value } as ManagerConfig;
  const { agents, registration } = config;
  if (
    registration === 'config' &&
    agents.kind === 'slots' &&
    agents.slots.some(({ mode }) => mode === 'host')
  )
    throw broken(path, 'a slot with "mode": "host" has no image for "registration": "config"');
  const { credential } = config;
  if (credential.kind === 'managed-identity') return withMachineIdentity(config, path);
  if (registration === 'config' && credential.kind === 'service-principal' && credential.proof !== undefined)
    throw broken(path, `"registration": "config" does not support "proof": "${credential.proof}"`);
  if (credential.kind === 'service-principal' && credential.proof === 'federation' && !credential.tokenFile)
    throw broken(path, '"credential.tokenFile" is missing');
  return config;
}

/** Returns the configuration where no job may reach the identity of the machine. The CLI has checked the same. */
function withMachineIdentity(config: ManagerConfig, path: string): ManagerConfig {
  const { credential, jobs, registration, agents } = config;
  const isArc = credential.kind === 'managed-identity' && credential.arc === true;
  const onHost = agents.kind === 'slots' && agents.slots.some(({ mode }) => mode === 'host');
  const refused = [
    jobs.docker ? '"jobs.docker"' : [],
    jobs.sudo ? '"jobs.sudo"' : [],
    registration === 'config' ? '"registration": "config"' : [],
    isArc && onHost ? 'a slot with "mode": "host"' : [],
  ].flat();
  if (refused.length > 0)
    throw broken(path, `"kind": "managed-identity" does not allow ${refused.join(', ')}`);
  return { ...config, fence: 'required' };
}

function broken(path: string, why: string, cause?: unknown): FleetError {
  return new FleetError(
    {
      code: 'manager.config',
      what: `the configuration ${path} cannot be used: ${why}`,
      next: 'write it again: azp-fleet provision',
    },
    { cause },
  );
}

/** Returns the configuration of a machine without an inventory. Pure. */
export function standaloneConfig(values: Values, hostname: string): ManagerConfig {
  const url = required(values.url, '--url');
  return {
    schema: 1,
    host: plain(values.name ?? hostname, '--name'),
    organization: organizationUrl(url),
    credential: { kind: 'pat' },
    pool: plain(required(values.pool, '--pool'), '--pool'),
    agents:
      values.agents === undefined
        ? { kind: 'one-per-gpu' }
        : { kind: 'count', count: count(values.agents, '--agents') },
    share: values.share ?? false,
    agentName: '{host}-{slot}',
    limits: {},
    driverCapabilities: ['compute', 'utility'],
    image:
      values.image === undefined ? builtImage(process.arch) : { kind: 'registry', reference: values.image },
    datasets: (values.volume ?? []).map(volume),
    jobs: { sudo: values.sudo ?? false, docker: false },
    registration: 'rest',
    capabilities: {},
    proxy: { noProxy: [], ca: false },
    metricsPort:
      values['metrics-port'] === undefined ? 0 : count(values['metrics-port'], '--metrics-port', 0),
  };
}

/** Parses `HOST:CONTAINER:ENV`, as in `/data/imagenet:/datasets/imagenet:IMAGENET`. */
function volume(text: string): Dataset {
  const [host = '', container = '', name = '', ...rest] = text.split(':');
  const right = host.startsWith('/') && container.startsWith('/') && /^[A-Z_][A-Z0-9_]*$/i.test(name);
  if (right && rest.length === 0) return { name, host, container, requireMount: false };
  throw usageError({
    code: 'manager.usage',
    what: `--volume ${text} is not HOST:CONTAINER:ENV`,
    expected:
      'two absolute paths and the name of a variable, as in /data/imagenet:/datasets/imagenet:IMAGENET',
    seen: text,
  });
}

function required(value: string | undefined, name: string): string {
  if (value !== undefined && value !== '') return value;
  throw usageError({ code: 'manager.usage', what: `${name} is missing`, next: 'azp-fleet-manager --help' });
}

/** Throws for control characters in a name that is sent to the server and shown. */
function plain(text: string, name: string): string {
  if (noControl.test(text)) return text;
  throw usageError({
    code: 'manager.usage',
    what: `${name} has a control character`,
    expected: 'a name without control characters',
    seen: JSON.stringify(text),
  });
}

function count(text: string, name: string, least = 1): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= 65_535) return value;
  throw usageError({
    code: 'manager.usage',
    what: `${name} must be a whole number from ${least} on`,
    seen: text,
  });
}

/**
 * Returns a function that reads the credential from the first of these files that has one. A new token works without a restart,
 * whatever the times of its file: a backup, `cp -p` or a clock that was set may give it an older one. `mayBeKey`: otherwise a private
 * key is refused. An earlier login may have left it, and this one would send it.
 */
export function tokenReader(paths: readonly string[], log: Logger, mayBeKey = false): () => Promise<Secret> {
  return async () => {
    const texts = await Promise.all(paths.map(read));
    const first = texts.find((text) => text !== '');
    if (first !== undefined) {
      const secret = new Secret(first);
      log.redact(secret);
      if (!mayBeKey && first.includes('PRIVATE KEY-----'))
        throw new FleetError({
          code: 'azure.auth',
          what: 'the stored credential is a private key, which is not sent',
          expected: 'what the login of the configuration uses',
          next: 'write it again: azp-fleet provision',
        });
      return secret;
    }
    throw new FleetError({
      code: 'azure.auth',
      what: `there is no credential: ${paths.join(', ')} cannot be read, is empty or too long`,
      next: 'write it with azp-fleet provision, or set --token-file',
    });
  };
}

/** Returns the files that may have what proves the manager's identity. */
export function secretFiles(
  { credential }: Pick<ManagerConfig, 'credential'>,
  stored: readonly string[],
): readonly string[] {
  if (credential.kind === 'managed-identity') return [];
  const tokenFile = credential.kind === 'pat' ? undefined : credential.tokenFile;
  return tokenFile === undefined ? stored : [tokenFile];
}

/** Returns the file's content; empty if it has none, is too long for a token, or cannot be read. */
async function read(path: string): Promise<string> {
  const { bytes } = readerBounds.tokenFile;
  return readHead(path, bytes + 1).then(
    (content) => (content.length > bytes ? '' : content.toString().trim()),
    () => '',
  );
}

/**
 * Returns the files that may have the credential: the installed one, and the copy that systemd loaded at the start, which is the
 * same or older.
 */
export function tokenPaths(
  given: string | undefined,
  credentialsDirectory: string | undefined,
  installed: string,
): readonly string[] {
  if (given !== undefined) return [given];
  return credentialsDirectory === undefined ? [installed] : [installed, `${credentialsDirectory}/token`];
}
