import { parseArgs } from 'node:util';
import { usageError } from '../base/errors.ts';

export const usage = `azp-fleet-manager keeps one-shot Azure Pipelines agents running in containers on this machine.

Usage
  azp-fleet-manager run --config FILE [--token-file FILE]
  azp-fleet-manager run --url URL --pool POOL --token-file FILE [options]
  azp-fleet-manager status|drain|undrain|adopt [SLOT…] | runs [SLOT] | logs SLOT   (asks the running manager)

Options of a machine of its own
  --url URL                 organization, https://dev.azure.com/NAME
  --pool POOL               agent pool; it must exist
  --token-file FILE         personal access token, readable by root only; never an argument
  -n, --agents N            how many agents; default: one per GPU, or one
  --name NAME               base of the agents' names: NAME-0, NAME-1, …; default: the host name
  -d, --image IMAGE         image of the agents; default: built here from the files beside the manager
  --volume HOST:CONTAINER:ENV   read-only folder for jobs, its path in variable ENV; may be repeated
  --share                   agents may share a GPU
  --sudo                    jobs may become root inside their container
  --state DIR               where runs and the drain state are kept; default /var/lib/azp-fleet
  --metrics-port PORT       Prometheus metrics on 127.0.0.1; 0, the default, serves none

Everywhere
  --context DIR             build context of the image; default: dockeragent beside this program
  --socket FILE             control socket; default /run/azp-fleet/manager.sock
  --status-file FILE        default /run/azp-fleet/status.json
  --docker FILE             socket of the Docker Engine; default /var/run/docker.sock
  --debug                   log more
`;

const options = {
  config: { type: 'string' },
  'token-file': { type: 'string' },
  url: { type: 'string' },
  pool: { type: 'string' },
  agents: { type: 'string', short: 'n' },
  name: { type: 'string' },
  image: { type: 'string', short: 'd' },
  volume: { type: 'string', multiple: true },
  share: { type: 'boolean' },
  sudo: { type: 'boolean' },
  adopt: { type: 'boolean' },
  state: { type: 'string' },
  'metrics-port': { type: 'string' },
  context: { type: 'string' },
  socket: { type: 'string' },
  'status-file': { type: 'string' },
  docker: { type: 'string' },
  'clock-scale': { type: 'string' },
  reason: { type: 'string' },
  tail: { type: 'string' },
  debug: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

export type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];

export interface Invocation {
  readonly command: string;
  readonly positionals: readonly string[];
  readonly values: Values;
}

/** Throws a usage error that names the mistake. */
export function parseArguments(args: readonly string[]): Invocation {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const [command = values.help === true ? 'help' : '', ...rest] = positionals;
    return { command: values.help === true ? 'help' : command, positionals: rest, values };
  } catch (error) {
    throw usageError({
      code: 'manager.usage',
      what: error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error),
      next: 'azp-fleet-manager --help',
    });
  }
}
