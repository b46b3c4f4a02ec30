import type { ParallelJobs } from '../azure/client.ts';
import { readParallelJobs } from '../azure/parallel-jobs.ts';
import { organizationUrl } from '../azure/url.ts';
import { defined } from '../base/defined.ts';
import { FleetError } from '../base/errors.ts';
import type { SecretSource } from '../inventory/fleet.ts';
import { describeSource } from '../inventory/secret.ts';
import { date } from '../inventory/schema/values.ts';
import { problemLines } from '../render/problem.ts';
import type { Choices } from './choices.ts';
import { askSecretSource } from './ask-secret.ts';
import { tell, widthOf, type Wizard } from './wizard-context.ts';

interface AzureChoice extends Pick<Choices, 'organization' | 'token' | 'expires' | 'projects'> {
  /** Where the token was tried and may read it, and there is a limit. */
  readonly jobs?: ParallelJobs;
}

/** Organization, where the token is found, whether it works, and whose pipelines may use the pool. */
export async function askAzure(wizard: Wizard): Promise<AzureChoice> {
  for (;;) {
    const organization = await askOrganization(wizard);
    const token = await askSecretSource(wizard, 'the access token', 'AZP_TOKEN');
    const client = await askCheck(wizard, organization, token);
    if (client === 'again') continue;
    const expires = await askExpiry(wizard);
    const projects = await askProjects(wizard, client);
    const read = client && (await readParallelJobs(client, wizard.context.log));
    const jobs = read?.permitted === undefined ? undefined : read;
    return { organization, token, ...defined({ expires, jobs }), projects };
  }
}

async function askOrganization({ prompts }: Wizard): Promise<string> {
  const text = await prompts.text('Azure DevOps organization (name or URL):', {
    check: (typed) => urlMistake(typed.includes('/') ? typed : `https://dev.azure.com/${typed}`),
  });
  return organizationUrl(text.includes('/') ? text : `https://dev.azure.com/${text}`);
}

function urlMistake(url: string): string | undefined {
  try {
    organizationUrl(url);
    return undefined;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return capital(error.problem.next ?? error.problem.what);
  }
}

type Client = ReturnType<Wizard['azure']>;

/** The client when the token works, undefined when it was not tried or is kept although it does not. */
async function askCheck(
  wizard: Wizard,
  organization: string,
  source: SecretSource,
): Promise<Client | undefined | 'again'> {
  const { prompts } = wizard;
  if ('env' in source && !wizard.context.env[source.env]) {
    tell(
      wizard,
      `${source.env} is not set here. Before provisioning: read -rs ${source.env} && export ${source.env}`,
    );
    return undefined;
  }
  while (await prompts.confirm('Try the token now?', true)) {
    const client = await tryToken(wizard, organization, source);
    if (client) return client;
    const chosen = await prompts.choose('The token did not work:', [
      { name: 'Try again', value: 'retry' },
      { name: 'Correct organization and token', value: 'again' },
      { name: 'Go on without', value: 'skip' },
    ]);
    if (chosen === 'again') return 'again';
    if (chosen === 'skip') return undefined;
  }
  return undefined;
}

async function tryToken(
  wizard: Wizard,
  organization: string,
  source: SecretSource,
): Promise<Client | undefined> {
  try {
    const client = wizard.azure(organization, await wizard.secret(source, 'the token'));
    const pools = await client.listPools();
    tell(wizard, `✔ ${organization} accepts ${describeSource(source)}; pools there: ${pools.length}`);
    return client;
  } catch (error) {
    if (!(error instanceof FleetError) || wizard.context.signal.aborted) throw error;
    wizard.say(...problemLines(error.problem, widthOf(wizard)));
    return undefined;
  }
}

/** A forgotten expiry stops a fleet; azp-fleet warns three weeks before. */
async function askExpiry({ prompts }: Wizard): Promise<string | undefined> {
  const text = await prompts.text('When does it expire? (2027-05-31, Enter if you do not know):', {
    check: (typed) =>
      typed === '' || date.safeParse(typed).success ? undefined : 'Year-month-day, such as 2027-05-31',
  });
  return text === '' ? undefined : text;
}

async function askProjects({ prompts }: Wizard, client: Client | undefined): Promise<string[]> {
  const split = (text: string) =>
    text
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '');
  const answer = await prompts.text('Projects that may use the pool (commas between):', {
    check: async (text) => {
      for (const name of split(text))
        if (client && (await client.findProject(name)) === undefined) return `There is no project ${name}`;
      return undefined;
    },
  });
  return split(answer);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
