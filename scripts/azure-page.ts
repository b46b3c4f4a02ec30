import { calls } from '../src/shared/azure/calls.ts';
import { locationOf } from '../practice/azure/discovery/locations.ts';
import { apiVersion, type Call } from '../src/shared/azure/http/rest.ts';
import facts from './azure-facts.json' with { type: 'json' };

/** A line of the table of facts: a heading, or a fact with its source and its tests. */
export interface Line {
  readonly about?: string;
  readonly fact?: string;
  readonly source?: string;
  /** `FILE: words of its title`; FILE may also be a table of the node client's calls. */
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

/** Every call, with ids that become ID on the page. */
const table: Readonly<Record<keyof typeof calls, About>> = {
  listPools: {
    sample: calls.listPools('NAME'),
    when: 'looking up a pool',
    evidence: `recorded at 5.1; ${contract}`,
  },
  managedPools: {
    sample: calls.managedPools(),
    when: 'the permissions of the token: in `setup`, and in `plan` and `provision` before a host gets it',
    evidence: 'azure-devops-node-api',
  },
  listProjects: {
    sample: calls.listProjects(1000),
    when: '`setup`: projects to choose from; if refused, type their names',
    evidence: contract,
  },
  createPool: { sample: calls.createPool('NAME'), when: 'creating a pool', evidence: contract },
  setAutoUpdate: {
    sample: calls.setAutoUpdate(1, false),
    when: 'switching automatic agent updates off, in a pool that azp-fleet created; for a pool that does not exist, to test write access: in `setup`, and before a host gets a token',
    evidence: `${contract}; Microsoft's Terraform provider`,
  },
  listAgents: {
    sample: calls.listAgents(1, { owner: 'OWNER' }),
    when: 'a manager reads its own agents; without `demands` all of a pool: `pool list` (without capabilities), `pool prune` (with the last job), `status` and `provision` of large parts of one',
    evidence: contract,
  },
  findAgent: {
    sample: calls.findAgent(1, 'NAME'),
    when: 'before each registration, and before each change of one agent',
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
    when: 'registering an agent again, with a new key for each job',
    evidence: `${contract}; agent recorded at 5.1-preview.1`,
  },
  setEnabled: { sample: calls.setEnabled(1, 2, false), when: 'drain, quarantine', evidence: contract },
  setUserCapabilities: {
    sample: calls.setUserCapabilities(1, 2, {}),
    when: 'GPU properties, for demands',
    evidence: 'azure-devops-node-api',
  },
  deleteAgent: {
    sample: calls.deleteAgent(1, 2),
    when: '`pool prune`, removed slots, and a killed agent with a leftover session',
    evidence: `${contract}; agent recorded at 5.1-preview.1`,
  },
  unfinishedRequests: {
    sample: calls.unfinishedRequests(1),
    when: 'the queue in `pool list` and `status`, and before a killed agent is deleted',
    evidence: 'azure-devops-node-api; KEDA',
  },
  recentRequests: {
    sample: calls.recentRequests(1, 250),
    when: '`doctor --job`: the queue, and jobs that failed at once',
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
    when: 'the same, every 5 s until the run ends',
    evidence: 'azure-devops-node-api',
  },
  readBuild: {
    sample: calls.readBuild('PROJECT', 1),
    when: '`doctor --job`; if refused, the name of the build is not shown',
    evidence: 'azure-devops-node-api',
  },
  readTimeline: {
    sample: calls.readTimeline('PROJECT', 1),
    when: 'the same: approvals, checks, and errors of the pipeline',
    evidence: 'azure-devops-node-api',
  },
  resourceUsage: {
    sample: calls.resourceUsage(),
    when: 'once in `status`, `doctor --job` and `setup`: the number of parallel jobs; if refused, that line is missing',
    evidence: 'azure-devops-node-api',
  },
  resourceLimits: {
    sample: calls.resourceLimits(),
    when: 'the same, if the previous call fails',
    evidence: 'azure-devops-node-api',
  },
  newestAgent: {
    sample: calls.newestAgent('linux-x64'),
    when: 'once for each architecture in `upgrade`, in its table; if it fails, the newest agent is unknown',
    evidence: 'azure-devops-node-api',
  },
  readPermission: {
    sample: calls.readPermission('PROJECT', 1),
    when: '`projects:`, `doctor --job`',
    evidence: contract,
  },
  authorizeQueue: { sample: calls.authorizeQueue('PROJECT', 1), when: '`projects:`', evidence: contract },
};

/** One of each call. */
export const samples: Readonly<Record<string, Call>> = Object.fromEntries(
  Object.entries(table).map(([name, { sample }]) => [name, sample]),
);

function callRow({ sample, when, evidence }: About): string {
  const location = locationOf(sample.path);
  if (location === undefined) throw new Error(`the service has no resource at ${sample.path}`);
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
  const files = new Set(tests.map((test) => test.split(': ')[0] ?? ''));
  return `| ${fact} | ${source} | ${[...files].join('; ')} |`;
}

/** Returns the facts as tables under their headings. */
export function factTables(from: readonly Line[]): string {
  const head = ['| fact | source | tests |', '| --- | --- | --- |'];
  return from
    .map((line) =>
      line.about === undefined ? factRow(line) : ['', `### ${line.about}`, '', ...head].join('\n'),
    )
    .join('\n')
    .trim();
}

/** Returns docs/azure.md with the tables of calls and facts between their markers. */
export function withAzureTables(page: string): string {
  return between(between(page, 'calls', callTable()), 'facts', factTables(lines));
}

function between(page: string, what: string, text: string): string {
  const start = `<!-- Written by \`npm run docs\`: ${what}; a test holds the two together. -->`;
  const end = `<!-- Until here: ${what}. -->`;
  const [before, rest] = page.split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined)
    throw new Error(`docs/azure.md has no markers around its ${what}`);
  return `${before}${start}\n\n${text}\n\n${end}${after}`;
}
