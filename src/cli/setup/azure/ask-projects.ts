import { FleetError } from '../../../shared/base/errors.ts';
import { problemLines } from '../../render/problem.ts';
import { tell, widthOf, type AzureQuestions, type Wizard } from '../wizard-context.ts';
import type { Seen } from './try-credential.ts';

/** As many as are chosen from a list; of more, names are typed. */
const mostListed = 200;

/** Whose pipelines may use the pool: chosen from the server's list, or typed. `pasted` came with the organization. */
export async function askProjects(
  wizard: Wizard,
  seen: Seen | undefined,
  pasted: string | undefined,
): Promise<string[]> {
  const { prompts } = wizard;
  const listed = seen?.projects ?? [];
  if (listed.length === 0 || listed.length > mostListed || prompts.answers('projects'))
    return typed(wizard, seen?.client, pasted);
  const preset = listed.filter((name) => name.toLowerCase() === pasted?.toLowerCase() || listed.length === 1);
  const chosen = await prompts.chooseMany(
    'projects.listed',
    'Projects that may use the pool:',
    listed.map((name) => ({ name, value: name })),
    preset,
  );
  await sayRights(wizard, seen?.client, chosen);
  return [...chosen];
}

async function typed(
  wizard: Wizard,
  client: AzureQuestions | undefined,
  pasted: string | undefined,
): Promise<string[]> {
  const answer = await wizard.prompts.text('projects', 'Projects that may use the pool (commas between):', {
    default: pasted ?? '',
    check: async (text) => {
      for (const name of split(text))
        if (client && (await client.findProject(name)) === undefined) return `There is no project ${name}`;
      return undefined;
    },
  });
  await sayRights(wizard, client, split(answer));
  return split(answer);
}

function split(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

/** Whether the token may see who is permitted to use a pool: the same scope permits it. */
async function sayRights(
  wizard: Wizard,
  client: AzureQuestions | undefined,
  projects: readonly string[],
): Promise<void> {
  if (client === undefined) return;
  for (const name of projects) {
    const refused = await wizard.prompts.once(`rights in ${name}`, () => refusal(client, name));
    if (refused !== undefined) wizard.say(...problemLines(refused, widthOf(wizard)));
    else tell(wizard, `✔ pools can be permitted in ${name}`);
  }
}

async function refusal(client: AzureQuestions, name: string) {
  try {
    const [queue] = (await client.findProject(name))?.queues ?? [];
    if (queue !== undefined) await client.isQueueAuthorized(name, queue.id);
    return undefined;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return error.problem;
  }
}
