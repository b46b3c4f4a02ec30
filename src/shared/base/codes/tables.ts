import { agentCodes } from './agent.ts';
import { azureCodes } from './azure.ts';
import type { Entry, FindingEntry } from './entry.ts';
import { healthCodes } from './health.ts';
import { imageCodes } from './image.ts';
import { inventoryCodes } from './inventory.ts';
import { managerCodes } from './manager.ts';
import { provisionCodes } from './provision.ts';
import { sshCodes } from './ssh.ts';
import { usageCodes } from './usage.ts';
import { waitingCodes } from './waiting.ts';

export interface CodeTable {
  /** The subject of the codes, as a heading. */
  readonly title: string;
  readonly entries: Readonly<Record<string, Entry>>;
}

/** Findings about GPUs. The page of all findings is docs/findings.md. */
export const findings: CodeTable = { title: 'GPUs and driver', entries: healthCodes };

/** Every other code, in the order of a first provision. Read by `azp-fleet explain` and by the generated docs. */
export const codeTables: readonly CodeTable[] = [
  { title: 'Arguments and setup', entries: usageCodes },
  { title: 'Inventory', entries: inventoryCodes },
  { title: 'Connection to a host', entries: sshCodes },
  { title: 'Plan and provision', entries: provisionCodes },
  { title: 'Azure DevOps', entries: azureCodes },
  { title: 'Images, registries, Docker', entries: imageCodes },
  { title: 'The manager of a host', entries: managerCodes },
  { title: 'Agents, runs and slots', entries: agentCodes },
  { title: 'Jobs that wait', entries: waitingCodes },
];

const all = new Map([findings, ...codeTables].flatMap(({ entries }) => Object.entries(entries)));

/** Returns the declaration of a code; undefined: an XID, or a code of another version of the program. */
export function entryOf(code: string): Entry | undefined {
  return all.get(code);
}

/** Returns the declaration of a finding; undefined: an XID, a code of another version, or no finding. */
export function findingEntry(code: string): FindingEntry | undefined {
  const traits = all.get(code)?.[2];
  return traits?.title === undefined ? undefined : traits;
}
