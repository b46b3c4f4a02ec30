import { parseArgs } from 'node:util';
import { usageError } from '../../shared/base/errors.ts';

export const usage = `azp-fleet-manager keeps one-shot Azure Pipelines agents running in containers on this machine.

Usage
  azp-fleet-manager run --config FILE [--token-file FILE] [options]
  azp-fleet-manager run --url URL --pool POOL --token-file FILE [options]
  azp-fleet-manager status | runs [SLOT]     (these and the next lines call the running manager)
  azp-fleet-manager logs SLOT [--tail LINES] | logs SLOT --diag [--run ID]
  azp-fleet-manager drain [SLOT…] [--reason TEXT] | undrain [SLOT…] [--of USER] | undrain --run ID
  azp-fleet-manager adopt [SLOT…]
  azp-fleet-manager repaired [--gpu ADDRESS]
  azp-fleet-manager webhook                  (sends a test message)
  azp-fleet-manager version

Options of a standalone machine; with --config they are in the file
  --url URL                 organization, https://dev.azure.com/NAME
  --pool POOL               agent pool; it must exist
  -n, --agents N            how many agents; default: one per GPU, or one
  --name NAME               base of the agents' names: NAME-0, NAME-1, …; default: the host name
  -d, --image IMAGE         image of the agents; default: built here from the files beside the manager
  --volume HOST:CONTAINER:ENV   read-only folder for jobs, its path in variable ENV; may be repeated
  --share                   agents may share a GPU
  --sudo                    jobs may become root inside their container
  --metrics-port PORT       Prometheus metrics on 127.0.0.1; 0, the default, serves none

Options of every run
  --token-file FILE         personal access token or client secret, readable by root only; never an argument
  --adopt                   take over, at this start, agent names of this machine whose other owner is gone
  --state DIR               where runs and the drain state are kept; default /var/lib/azp-fleet
  --context DIR             build context of the image; default: dockeragent beside this program
  --status-file FILE        default /run/azp-fleet/status.json
  --docker FILE             socket of the Docker Engine; default /var/run/docker.sock
  --debug                   log more

Everywhere
  --socket FILE             control socket; default /run/azp-fleet/manager.sock
  -h, --help                this text
`;

export const options = {
  config: { type: 'string' },
  url: { type: 'string' },
  pool: { type: 'string' },
  agents: { type: 'string', short: 'n' },
  name: { type: 'string' },
  image: { type: 'string', short: 'd' },
  volume: { type: 'string', multiple: true },
  share: { type: 'boolean' },
  sudo: { type: 'boolean' },
  'metrics-port': { type: 'string' },
  'token-file': { type: 'string' },
  adopt: { type: 'boolean' },
  state: { type: 'string' },
  context: { type: 'string' },
  'status-file': { type: 'string' },
  docker: { type: 'string' },
  debug: { type: 'boolean' },
  socket: { type: 'string' },
  reason: { type: 'string' },
  tail: { type: 'string' },
  diag: { type: 'boolean' },
  run: { type: 'string' },
  gpu: { type: 'string' },
  of: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

type Name = keyof typeof options;

/** Options that are in the configuration file instead. */
const standalone: readonly Name[] = [
  'url',
  'pool',
  'agents',
  'name',
  'image',
  'volume',
  'share',
  'sudo',
  'metrics-port',
];

interface Shape {
  /** Except --socket and --help. */
  readonly options: readonly Name[];
  /** Most slots that the command takes. */
  readonly slots: number;
}

const commands: Readonly<Record<string, Shape>> = {
  run: {
    options: [
      ...standalone,
      ...(['config', 'token-file', 'adopt', 'state', 'context', 'status-file', 'docker', 'debug'] as const),
    ],
    slots: 0,
  },
  status: { options: [], slots: 0 },
  runs: { options: [], slots: 1 },
  logs: { options: ['tail', 'diag', 'run'], slots: 1 },
  drain: { options: ['reason'], slots: Number.POSITIVE_INFINITY },
  undrain: { options: ['run', 'of'], slots: Number.POSITIVE_INFINITY },
  adopt: { options: [], slots: Number.POSITIVE_INFINITY },
  repaired: { options: ['gpu'], slots: 0 },
  webhook: { options: [], slots: 0 },
  version: { options: [], slots: 0 },
  help: { options: [], slots: 0 },
};

export type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];

export interface Invocation {
  readonly command: string;
  readonly positionals: readonly string[];
  readonly values: Values;
}

/** Parses the arguments. Throws a usage error for anything unknown. */
export function parseArguments(args: readonly string[]): Invocation {
  const { values, positionals } = parsed(args);
  if (values.help === true) return { command: 'help', positionals: [], values };
  const [command, ...rest] = positionals;
  const shape = command === undefined ? undefined : commands[command];
  if (command === undefined) throw usageMistake('a command is missing');
  if (shape === undefined) throw usageMistake(`there is no command ${command}`);
  const given = Object.keys(values) as Name[];
  const unknown = given.find((name) => name !== 'socket' && !shape.options.includes(name));
  if (unknown !== undefined) throw usageMistake(`${command} has no option --${unknown}`);
  const unexpected = rest[shape.slots];
  if (unexpected !== undefined) throw usageMistake(`${command} does not take ${unexpected}`);
  const inFile = values.config === undefined ? undefined : given.find((name) => standalone.includes(name));
  if (inFile !== undefined)
    throw usageMistake(`--${inFile} cannot be combined with --config: set it in the file`);
  return { command, positionals: rest, values };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw usageMistake(error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error));
  }
}

function usageMistake(what: string): Error {
  return usageError({ code: 'manager.usage', what, next: 'azp-fleet-manager --help' });
}
