import type { LabAzure } from './azure.ts';
import { ensureBase } from './base-images.ts';
import { docker } from './engine.ts';
import { network } from './paths.ts';
import { azBase } from './recipes.ts';
import type { Output } from './run.ts';

/** Debian's `az`, unmodified, in a container on the lab's network: a person's shell with a token for a practice server. */
export interface AzShell {
  /** Runs a line of bash. `token` takes the place of the server's own; an empty one is none. */
  run(line: string, options?: { readonly token?: string }): Promise<Output>;
  remove(): Promise<void>;
}

/** Makes the image unless there is one of the same recipe, and starts a container of it: files in it stay between lines. */
export async function startAz(prefix: string, azure: LabAzure): Promise<AzShell> {
  const container = `${prefix}-az`;
  const image = await ensureBase(azBase);
  await docker(['rm', '-fv', container], { allowFailure: true });
  const environment = {
    LC_ALL: 'C.UTF-8',
    AZURE_CORE_COLLECT_TELEMETRY: 'no',
    // At each call it warns that the server is not dev.azure.com.
    AZURE_CORE_ONLY_SHOW_ERRORS: 'yes',
    // What could lead a call of this container out of the lab ends nowhere.
    https_proxy: 'http://127.0.0.1:9',
  };
  await docker(
    [
      ['run', '--detach', '--name', container, '--network', network.name, '--workdir', '/root'],
      Object.entries(environment).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
      [image, 'sleep', 'infinity'],
    ].flat(),
  );
  return {
    run: (line, { token = azure.token } = {}) => {
      // By name only: the value goes by the environment of docker, not by its arguments.
      const withToken = token === '' ? [] : ['--env', 'AZURE_DEVOPS_EXT_PAT'];
      return docker(['exec', '-i', ...withToken, container, 'bash', '-c', line], {
        env: { AZURE_DEVOPS_EXT_PAT: token },
        allowFailure: true,
        timeoutMs: 120_000,
      });
    },
    remove: async () => {
      await docker(['rm', '-fv', container]);
    },
  };
}
