import { agentCodes } from '../src/shared/base/codes/agent.ts';
import { azureCodes } from '../src/shared/base/codes/azure.ts';
import type { Entries } from '../src/shared/base/codes/entry.ts';
import { imageCodes } from '../src/shared/base/codes/image.ts';
import { inventoryCodes } from '../src/shared/base/codes/inventory.ts';
import { managerCodes } from '../src/shared/base/codes/manager.ts';
import { provisionCodes } from '../src/shared/base/codes/provision.ts';
import { sshCodes } from '../src/shared/base/codes/ssh.ts';
import { usageCodes } from '../src/shared/base/codes/usage.ts';

/** Where something can go wrong, and the codes of it. */
export const sections: readonly (readonly [title: string, entries: Entries])[] = [
  ['The call, and setup', usageCodes],
  ['The inventory', inventoryCodes],
  ['The way to a host', sshCodes],
  ['Plan and provision', provisionCodes],
  ['Azure DevOps', azureCodes],
  ['Images, registries, Docker', imageCodes],
  ['The manager of a host', managerCodes],
  ['Agents, runs and slots', agentCodes],
];

/** What docs/errors.md tells. */
export const toldCodes = sections.flatMap(([, entries]) => Object.keys(entries));

/** docs/errors.md: every code with what it means and what ends it. */
export function errorsPage(): string {
  const tables = sections.map(([title, entries]) => {
    const rows = Object.entries(entries).map(
      ([code, [cause, next]]) => `| \`${code}\` | ${cause} | ${next} |`,
    );
    return `## ${title}\n\n| code | what has happened | what to do |\n| --- | --- | --- |\n${rows.join('\n')}\n`;
  });
  return `# Codes

Every problem has a \`code\` that stays the same from version to version: in \`--json\`, in the manager's status, in its
metrics and in the records of runs. What is told with it names host, step, what was expected and seen, and the next action
for its own case; here is what each means in general. Findings about GPUs are in [health.md](health.md).

Written by \`npm run docs\` from \`src/shared/base/codes\`; nothing compiles with a code that is not there.

${tables.join('\n')}`;
}
