import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { sha256 } from '../../shared/base/digest.ts';
import { usageError } from '../../shared/base/errors.ts';
import { HostPaths } from '../../shared/contract/paths.ts';
import { everySlot, withAdopted } from '../slots/drains.ts';
import type { Values } from './arguments.ts';
import { loadConfig, type LoadedConfig } from './configuration.ts';
import { standaloneConfig } from './standalone.ts';
import { StateStore } from '../state.ts';
import { tokenPaths } from './token.ts';

/** Where a manager finds and leaves things. */
export interface RunPlaces {
  /** The first that is there holds the credential. */
  readonly tokens: readonly string[];
  readonly state: string;
  /** Folders of agents straight on the host; beside the state, which only root may enter. */
  readonly agents: string;
  readonly docker: string;
  readonly socket: string;
  readonly status: string;
  /** The build context of the image. */
  readonly context: string;
  /** Archives of teams' folders. */
  readonly folders: string;
  /** A folder for each durable change. */
  readonly changes: string;
  /** The lock of whoever changes the host. */
  readonly hostLock: string;
}

/** `program`: the folder that the manager was started from. */
export function runPlaces(values: Values, program: string, env: NodeJS.ProcessEnv): RunPlaces {
  // Beside the manager on a host; beside its folder in the package.
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

/** What an earlier manager of this machine kept; with `--adopt`, every name may be taken over from another owner. */
export async function openState(values: Values, directory: string, machineId: string): Promise<StateStore> {
  const store = await StateStore.open(directory, machineId);
  if (values.adopt === true) {
    await store.update(({ adopt }) => ({ adopt: withAdopted(adopt, [everySlot]) }));
  }
  return store;
}

/** From the file, or, on a machine of its own, from the command line. */
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
