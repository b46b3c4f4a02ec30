import { readFileSync } from 'node:fs';
import path from 'node:path';

import { defined } from '../base/defined.ts';
import { FleetError } from '../base/errors.ts';
import type { Fleet, HostSpec } from '../inventory/fleet.ts';
import { parseFleet } from '../inventory/load.ts';
import { askAgents, askDatasets } from './ask-agents.ts';
import { askAzure } from './ask-azure.ts';
import { askHosts } from './ask-hosts.ts';
import { checkHosts, type Describe } from './check-hosts.ts';
import type { HostChoice } from './choices.ts';
import { describeIn } from './describe-host.ts';
import { askToWrite } from './finish.ts';
import { inventoryText, withHosts } from './inventory-text.ts';
import { agentCount, sayJobs } from './say-jobs.ts';
import { writeInventory } from './write.ts';
import { tell, type Wizard } from './wizard-context.ts';

export interface SetupResult {
  /** As the user named it; undefined when nothing was written. */
  readonly file: string | undefined;
  /** The hosts to provision at once; empty: none. */
  readonly provision: readonly string[];
}

const nothing: SetupResult = { file: undefined, provision: [] };

/** Asks, tests, shows, writes. Nothing is on disk before the last question but one, and nothing on the hosts. */
export async function runSetup(wizard: Wizard, file: string): Promise<SetupResult> {
  wizard.say('Your answers become an inventory. Hosts are looked at, not changed.', '');
  const existing = readExisting(wizard, file);
  if (!existing) return createInventory(wizard, file);
  const add = await wizard.prompts.choose(`${file} has ${count(existing.fleet.hosts.length)}:`, [
    { name: 'Add hosts to it', value: true },
    { name: 'Begin a new one', value: false },
  ]);
  return add ? addHosts(wizard, file, existing) : createInventory(wizard, file);
}

async function createInventory(wizard: Wizard, file: string): Promise<SetupResult> {
  const hosts = await chooseHosts(wizard, [], describeIn(draft(wizard), file, wizard));
  const { jobs, ...azure } = await askAzure(wizard);
  const agents = await askAgents(wizard, hosts);
  sayJobs(wizard, azure.organization, agentCount(hosts, agents), jobs);
  const datasets = await askDatasets(wizard);
  const text = inventoryText({
    ...azure,
    ...agents,
    ...defined({ sshConfig: wizard.sshConfig }),
    hosts,
    datasets,
  });
  parseFleet(text, file, wizard.context);
  const written = await askToWrite(wizard, text, file);
  return written === undefined ? nothing : askToProvision(wizard, written, hosts);
}

/** What hosts are tested with before there is an inventory. */
function draft({ sshConfig }: Wizard): string {
  const defaults = JSON.stringify({ pool: 'gpu-lab', sshConfig });
  return `organization: https://dev.azure.com/example\ntoken: { env: AZP_TOKEN }\ndefaults: ${defaults}\n`;
}

async function addHosts(wizard: Wizard, file: string, { source, fleet }: Existing): Promise<SetupResult> {
  const hosts = await chooseHosts(wizard, fleet.hosts, describeIn(source, file, wizard));
  const text = withHosts(source, hosts);
  parseFleet(text, file, wizard.context);
  for (const { name, gpus = 0 } of hosts) wizard.say(`+ ${name}${gpus > 0 ? `  ${gpus} GPUs` : ''}`);
  if (!(await wizard.prompts.confirm(`Add ${count(hosts.length)} to ${file}?`, true))) return nothing;
  const kept = writeInventory(path.resolve(wizard.context.cwd, file), text, { replace: true });
  tell(wizard, `✔ ${file} written; the old one is ${path.basename(kept ?? '')}`);
  return askToProvision(wizard, file, hosts);
}

async function askToProvision(
  wizard: Wizard,
  file: string,
  hosts: readonly HostChoice[],
): Promise<SetupResult> {
  const now = await wizard.prompts.confirm('Provision now? The plan is shown and asked about first.', true);
  return { file, provision: now ? hosts.map(({ name }) => name) : [] };
}

/** Until at least one host is left. */
async function chooseHosts(
  wizard: Wizard,
  inventory: readonly HostSpec[],
  describe: Describe,
): Promise<HostChoice[]> {
  const taken = inventory.flatMap(({ name, groups }) => [name, ...groups]);
  for (;;) {
    const hosts = await checkHosts(wizard, await askHosts(wizard, taken), describe, inventory);
    if (hosts.length > 0) return hosts;
    wizard.say('No host is left. Choose again, or leave with Ctrl-C.');
  }
}

interface Existing {
  readonly source: string;
  readonly fleet: Fleet;
}

/** Undefined when there is none, or none that could be added to. */
function readExisting(wizard: Wizard, file: string): Existing | undefined {
  const { context } = wizard;
  try {
    const source = readFileSync(path.resolve(context.cwd, file), 'utf8');
    const fleet = parseFleet(source, file, context);
    wizard.know(fleet);
    return { source, fleet };
  } catch (error) {
    if (error instanceof FleetError) tell(wizard, `${file} cannot be added to: ${error.problem.what}`);
    return undefined;
  }
}

function count(hosts: number): string {
  return `${hosts} host${hosts === 1 ? '' : 's'}`;
}
