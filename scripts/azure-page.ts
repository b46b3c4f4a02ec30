import { calls } from '../src/shared/azure/calls.ts';
import { locationOf } from '../practice/azure/discovery/locations.ts';
import { apiVersion, type Call } from '../src/shared/azure/http/rest.ts';
import facts from './azure-facts.json' with { type: 'json' };

/** A line of the table of facts: a heading, or a fact with its source and the tests that hold code to it. */
interface Line {
  readonly about?: string;
  readonly fact?: string;
  readonly source?: string;
  /** `FILE: words of its title`; FILE may be a table of the node client's calls, too. */
  readonly tests?: readonly string[];
}
export const lines: readonly Line[] = facts;

interface About {
  readonly sample: Call;
  readonly when: string;
  readonly evidence: string;
}

const contract = 'published contract 7.1';
const agent = { name: 'NAME', version: '', osDescription: '', systemCapabilities: {} };
const publicKey = { exponent: '', modulus: '' };

/** Every call, with ids that become words on the page. */
const table: Readonly<Record<keyof typeof calls, About>> = {
  listPools: {
    sample: calls.listPools('NAME'),
    when: 'looking up a pool',
    evidence: `recorded at 5.1; ${contract}`,
  },
  managedPools: {
    sample: calls.managedPools(),
    when: '`setup`: what the token may do',
    evidence: 'azure-devops-node-api',
  },
  listProjects: {
    sample: calls.listProjects(1000),
    when: '`setup`: projects to choose from; refused, their names are typed',
    evidence: contract,
  },
  createPool: { sample: calls.createPool('NAME'), when: 'creating a pool', evidence: contract },
  setAutoUpdate: {
    sample: calls.setAutoUpdate(1, false),
    when: 'automatic updates of agents off, in a pool that we made; `setup` asks it of a pool that nobody has, to see whether the token may write',
    evidence: `${contract}; Microsoft's Terraform provider`,
  },
  listAgents: {
    sample: calls.listAgents(1, { owner: 'OWNER' }),
    when: "a manager's look at its own agents; without `demands` all of a pool: `pool list` (without capabilities), `pool prune` (with the last job), `status` and `provision` of large parts of one",
    evidence: contract,
  },
  findAgent: {
    sample: calls.findAgent(1, 'NAME'),
    when: 'before each registration, and whatever is done to one agent',
    evidence: `${contract}; agent recorded at 5.1-preview.1`,
  },
  getAgent: {
    sample: calls.getAgent(1, 2),
    when: 'while draining, after a run',
    evidence: 'azure-devops-node-api; agent recorded at 5.1-preview.1 (the list)',
  },
  createAgent: {
    sample: calls.createAgent(1, { ...agent, publicKey }),
    when: 'registering an agent',
    evidence: `${contract}; agent recorded at 5.1-preview.1`,
  },
  replaceAgent: {
    sample: calls.replaceAgent(1, 2, { ...agent, publicKey }),
    when: 'registering it again, with a new key for each job',
    evidence: `${contract}; agent recorded at 5.1-preview.1`,
  },
  setEnabled: { sample: calls.setEnabled(1, 2, false), when: 'drain, quarantine', evidence: contract },
  setUserCapabilities: {
    sample: calls.setUserCapabilities(1, 2, {}),
    when: 'what a GPU is, for demands',
    evidence: 'azure-devops-node-api',
  },
  deleteAgent: {
    sample: calls.deleteAgent(1, 2),
    when: '`pool prune`, slots that are not wanted any more, and a killed agent whose session is left',
    evidence: `${contract}; agent recorded at 5.1-preview.1`,
  },
  unfinishedRequests: {
    sample: calls.unfinishedRequests(1),
    when: 'the queue in `pool list`, and before a killed agent is deleted',
    evidence: 'azure-devops-node-api; KEDA',
  },
  getRequest: {
    sample: calls.getRequest(1, 2),
    when: 'the result of a run',
    evidence: 'azure-devops-node-api',
  },
  listQueues: {
    sample: calls.listQueues('PROJECT'),
    when: '`projects:`, and whether a project exists',
    evidence: `recorded at 5.1-preview.1; ${contract}`,
  },
  createQueue: {
    sample: calls.createQueue('PROJECT', { id: 1, name: 'NAME' }),
    when: '`projects:`',
    evidence: contract,
  },
  runPipeline: {
    sample: calls.runPipeline('PROJECT', 1),
    when: '`setup --test-pipeline`',
    evidence: 'azure-devops-node-api',
  },
  readRun: {
    sample: calls.readRun('PROJECT', 1, 1),
    when: 'the same, each 5 s until it has ended',
    evidence: 'azure-devops-node-api',
  },
  resourceUsage: {
    sample: calls.resourceUsage(),
    when: 'once in `status` and in `setup`: how many jobs may run at once; refused, that line is missing',
    evidence: 'azure-devops-node-api',
  },
  resourceLimits: {
    sample: calls.resourceLimits(),
    when: 'the same, where the call before does not answer',
    evidence: 'azure-devops-node-api',
  },
  readPermission: { sample: calls.readPermission('PROJECT', 1), when: '`projects:`', evidence: contract },
  authorizeQueue: { sample: calls.authorizeQueue('PROJECT', 1), when: '`projects:`', evidence: contract },
};

/** One of each call, as it is made. */
export const samples: Readonly<Record<string, Call>> = Object.fromEntries(
  Object.entries(table).map(([name, { sample }]) => [name, sample]),
);

function callRow({ sample, when, evidence }: About): string {
  const location = locationOf(sample.path);
  if (location === undefined) throw new Error(`no resource of the service is at ${sample.path}`);
  const version = sample.apiVersion ?? apiVersion;
  const state = location.releasedVersion === '0.0' ? 'preview only' : 'released';
  const query = Object.entries(sample.query ?? {}).map(([name, value]) => `${name}=${value}`);
  const path = `${sample.path.slice(1).replaceAll(/\/\d+/gu, '/ID')}${query.length === 0 ? '' : `?${query.join('&')}`}`;
  return `| \`${sample.method} ${path}\` | ${when} | ${version} | ${state}, ${location.minVersion} to ${location.maxVersion} | ${evidence} |`;
}

function callTable(): string {
  const head = [
    '| call | when | api-version | the service has it | evidence |',
    '| --- | --- | --- | --- | --- |',
  ];
  return [...head, ...Object.values(table).map(callRow)].join('\n');
}

function factRow({ fact, source, tests = [] }: Line): string {
  const held = tests.map((test) => {
    const [file = '', words = ''] = test.split(/: (.*)/su);
    return `${file} (${words.replaceAll('|', '\\|')})`;
  });
  return `| ${fact} | ${source} | ${held.join('; ')} |`;
}

function factTables(): string {
  const head = ['| fact | source | held by |', '| --- | --- | --- |'];
  return lines
    .map((line) =>
      line.about === undefined ? factRow(line) : ['', `### Of ${line.about}`, '', ...head].join('\n'),
    )
    .join('\n')
    .trim();
}

/** docs/azure.md with the tables of calls and of facts between their marks. */
export function withAzureTables(page: string): string {
  return between(between(page, 'calls', callTable()), 'facts', factTables());
}

function between(page: string, what: string, text: string): string {
  const start = `<!-- Written by \`npm run docs\`: ${what}; a test holds the two together. -->`;
  const end = `<!-- Until here: ${what}. -->`;
  const [before, rest] = page.split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined)
    throw new Error(`docs/azure.md lacks the marks around its ${what}`);
  return `${before}${start}\n\n${text}\n\n${end}${after}`;
}
