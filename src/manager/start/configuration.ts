import { readFile } from 'node:fs/promises';
import { sha256 } from '../../shared/base/digest.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { builtImage } from '../../shared/contract/agent-release.ts';
import { configDefaults, type ManagerConfig } from '../../shared/contract/config.ts';

export interface LoadedConfig {
  readonly config: ManagerConfig;
  /** sha256 of the file's bytes: the CLI compares it with what it uploaded. */
  readonly hash: string;
}

/** The CLI has validated it; here only what would make the daemon fail later and unclearly is checked. */
export async function loadConfig(path: string): Promise<LoadedConfig> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
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
  if (value.schema !== 1) throw broken(path, `its schema is ${String(value.schema)}, this manager knows 1`);
  const needed = ['host', 'organization', 'credential', 'pool'] as const;
  const missing = needed.find((key) => value[key] === undefined);
  if (missing !== undefined) throw broken(path, `"${missing}" is missing`);
  const image = builtImage(process.arch);
  const config = { image, ...configDefaults, ...value } as ManagerConfig;
  const { agents, registration } = config;
  if (
    registration === 'config' &&
    agents.kind === 'slots' &&
    agents.slots.some(({ mode }) => mode === 'host')
  )
    throw broken(path, 'a slot with "mode": "host" has no image for "registration": "config"');
  return config;
}

function broken(path: string, why: string, cause?: unknown): FleetError {
  return new FleetError(
    {
      code: 'manager.config',
      what: `the configuration ${path} cannot be used: ${why}`,
      next: 'write it anew with azp-fleet provision',
    },
    { cause },
  );
}
