import type { ParallelJobs } from '../../../shared/azure/client.ts';
import { defined } from '../../../shared/base/objects.ts';
import type { CredentialSource } from '../../../fleet/inventory/fleet.ts';
import { problemLines } from '../../render/problem.ts';
import type { Choices, NetworkChoice } from '../choices.ts';
import { tell, widthOf, type Wizard } from '../wizard-context.ts';
import { askCredential, withExpiry } from './ask-credential.ts';
import { askNetwork } from './ask-network.ts';
import { askProjects } from './ask-projects.ts';
import { organizationMistake, readOrganization, type Pasted } from './organization-forms.ts';
import { rightsLines, tryCredential, type Seen } from './try-credential.ts';

export interface AzureChoice extends Pick<Choices, 'organization' | 'credential' | 'projects' | 'network'> {
  /** Where the credential was tried and may read it, and there is a limit. */
  readonly jobs?: ParallelJobs;
  /** Of the server, where the credential was tried; the names of pools for jobs. */
  readonly pools?: readonly string[];
}

/** Organization, network, credential and whether it works, and whose pipelines may use the pool. */
export async function askAzure(wizard: Wizard): Promise<AzureChoice> {
  for (let round = 1; ; round += 1) {
    const { organization, project } = await askOrganization(wizard);
    const network = await askNetwork(wizard);
    const credential = await askCredential(wizard, organization);
    const seen = await askCheck(wizard, { organization, credential, network, round });
    if (seen === 'again') continue;
    const known = await withExpiry(wizard, credential);
    const projects = await askProjects(wizard, seen, project);
    return {
      organization,
      credential: known,
      network,
      projects,
      ...defined({ jobs: seen?.jobs, pools: seen?.pools }),
    };
  }
}

async function askOrganization(wizard: Wizard): Promise<Pasted> {
  const text = await wizard.prompts.text(
    'organization',
    'Azure DevOps organization (name or any address of it):',
    {
      check: organizationMistake,
    },
  );
  const pasted = readOrganization(text);
  if (pasted.organization !== text)
    tell(
      wizard,
      `  ${pasted.organization}${pasted.project === undefined ? '' : `, project ${pasted.project}`}`,
    );
  return pasted;
}

interface Try {
  readonly organization: string;
  readonly network: NetworkChoice;
  readonly credential: CredentialSource;
  readonly round: number;
}

/** What the server told; undefined when it was not tried or is kept although it does not work. */
async function askCheck(wizard: Wizard, tried: Try): Promise<Seen | undefined | 'again'> {
  const { prompts, context } = wizard;
  const { organization, credential } = tried;
  const source = credential.kind === 'pat' ? credential.token : credential.secret;
  if ('env' in source && !context.env[source.env]) {
    tell(
      wizard,
      `${source.env} is not set here. Before provisioning: read -rs ${source.env} && export ${source.env}`,
    );
    return undefined;
  }
  for (let attempt = 1; ; attempt += 1) {
    const seen = await prompts.once(`try ${tried.round} ${attempt}`, () => tryCredential(wizard, tried));
    if (!('code' in seen)) {
      for (const line of rightsLines(organization, credential, seen)) tell(wizard, line);
      return seen;
    }
    wizard.say(...problemLines(seen, widthOf(wizard)));
    const chosen = await prompts.choose<'retry' | 'again' | 'skip'>(
      'token.failed',
      'The token did not work:',
      [
        ...(prompts.canAsk
          ? ([
              { name: 'Try again', value: 'retry' },
              { name: 'Correct organization and token', value: 'again' },
            ] as const)
          : []),
        { name: 'Go on without', value: 'skip' },
      ],
    );
    if (chosen === 'again') return 'again';
    if (chosen === 'skip') return undefined;
  }
}
