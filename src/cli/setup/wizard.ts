import { readFileSync } from 'node:fs';
import path from 'node:path';

import { defined } from '../../shared/base/objects.ts';
import { FleetError } from '../../shared/base/errors.ts';
import type { Fleet } from '../../fleet/inventory/fleet.ts';
import { parseFleet } from '../../fleet/inventory/load.ts';
import { askAzure } from './azure.ts';
import { organizationMistake } from './organization-forms.ts';
import { type Choices, print, type Wizard } from './wizard-context.ts';
import { askToWrite, inventoryText, schemaPlace, withHosts, writeInventory } from './inventory-file.ts';
import { askHosts, nameHosts, withoutDuplicates, notInInventory } from './ask-hosts.ts';
import { checkHosts, type Settled } from './check-hosts.ts';
import { type Among, describeIn } from './test-host.ts';
import { agentCount, askAgents, askDatasets, sayJobs } from './agents.ts';

export interface SetupResult {
  /** As the user named it; undefined when nothing was written. */
  readonly file: string | undefined;
  /** The added hosts. */
  readonly hosts: readonly string[];
  /** Their pool, if it was asked for. */
  readonly pool?: string;
}

const nothing: SetupResult = { file: undefined, hosts: [] };

/** Asks, tests, shows, writes. Writes nothing to disk before the last question, and changes no host without notice. */
export async function runSetup(wizard: Wizard, file: string): Promise<SetupResult> {
  const existing = readExisting(wizard, file);
  if (!existing) return createInventory(wizard, file);
  const choice = await wizard.prompts.choose(
    'existing',
    `${file} has ${count(existing.fleet.hosts.length)}:`,
    [
      { name: 'Add hosts to it', value: 'add' },
      { name: 'Create a new one', value: 'new' },
    ],
  );
  return choice === 'add' ? addHosts(wizard, file, existing) : createInventory(wizard, file);
}

async function createInventory(wizard: Wizard, file: string): Promise<SetupResult> {
  // Hosts are contacted only for an inventory that can be written.
  wizard.prompts.refuseInvalid('organization', organizationMistake);
  const settled = await chooseHosts(wizard, describeIn(draft(wizard), file, wizard, []));
  const hosts = settled.map(({ host }) => host);
  const { jobs, pools, ...azure } = await askAzure(wizard);
  const agents = await askAgents(wizard, hosts, pools);
  sayJobs(wizard, azure.organization, agentCount(hosts, agents), jobs);
  const datasets = await askDatasets(wizard, mountsOf(settled));
  const choices = {
    ...azure,
    ...agents,
    ...defined({ sshConfig: wizard.sshConfig }),
    hosts,
    datasets,
  } satisfies Choices;
  const textFor = (place: string): string => {
    const schema = schemaPlace(path.dirname(path.resolve(wizard.context.cwd, place)));
    return inventoryText({ ...choices, ...defined({ schema }) });
  };
  parseFleet(textFor(file), file, wizard.context);
  const written = await askToWrite(wizard, textFor, file);
  return written === undefined
    ? nothing
    : { file: written, hosts: hosts.map(({ name }) => name), pool: agents.pool };
}

/** Returns the inventory for tests before there is a real one. */
function draft({ sshConfig }: Wizard): string {
  const defaults = JSON.stringify({ pool: 'gpu-lab', sshConfig });
  return `organization: https://dev.azure.com/example\ntoken: { env: AZP_TOKEN }\ndefaults: ${defaults}\n`;
}

async function addHosts(wizard: Wizard, file: string, { source, fleet }: Existing): Promise<SetupResult> {
  const among = describeIn(source, file, wizard, fleet.hosts);
  const settled = await chooseHosts(wizard, among);
  const hosts = settled.map(({ host }) => among.entry(host));
  const text = withHosts(source, hosts);
  parseFleet(text, file, wizard.context);
  for (const line of addedLines(source, text)) wizard.say(line);
  const add = await wizard.prompts.confirm('write', `Add ${count(hosts.length)} to ${file}?`, true);
  if (!add) return nothing;
  const kept = writeInventory(path.resolve(wizard.context.cwd, file), text, { replace: true });
  print(wizard, `✔ ${file} written; backup: ${path.basename(kept ?? '')}`);
  return { file, hosts: hosts.map(({ name }) => name) };
}

/** Returns the added lines of the file. */
function addedLines(before: string, after: string): string[] {
  const old = new Set(before.split('\n'));
  return after.split('\n').flatMap((line) => (old.has(line) ? [] : [`+ ${line}`]));
}

/** Asks for hosts until at least one remains. */
async function chooseHosts(wizard: Wizard, among: Among): Promise<Settled[]> {
  const taken = among.inventory.flatMap(({ name, groups }) => [name, ...groups]);
  for (;;) {
    const tested = withoutDuplicates(wizard, await checkHosts(wizard, await askHosts(wizard, taken), among));
    const settled = await notInInventory(wizard, tested, among.inventory);
    if (settled.length > 0) return nameHosts(wizard, settled, taken);
    if (!wizard.prompts.canAsk) throw noHosts();
    wizard.say('No hosts remain. Choose again. Esc: back; Ctrl-C: quit.');
  }
}

function noHosts(): FleetError {
  return new FleetError({
    code: 'usage.no-hosts',
    what: 'no hosts remain',
    next: 'fix the problems listed above, or keep the hosts: --unready keep',
  });
}

function mountsOf(settled: readonly Settled[]): string[] {
  return [...new Set(settled.flatMap(({ report }) => report.mounts ?? []))];
}

interface Existing {
  readonly source: string;
  readonly fleet: Fleet;
}

/** Returns the existing inventory; undefined if there is none, or hosts cannot be added to it. */
function readExisting(wizard: Wizard, file: string): Existing | undefined {
  const { context } = wizard;
  let source: string;
  try {
    source = readFileSync(path.resolve(context.cwd, file), 'utf8');
  } catch {
    return undefined;
  }
  try {
    const fleet = parseFleet(source, file, context);
    wizard.know(fleet);
    return { source, fleet };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    print(wizard, `cannot add hosts to ${file}: ${error.problem.what}`);
    return undefined;
  }
}

function count(hosts: number): string {
  return `${hosts} host${hosts === 1 ? '' : 's'}`;
}
