import type { ParallelJobs } from '../../../shared/azure/client.ts';
import { readParallelJobs } from '../../../shared/azure/parallel-jobs.ts';
import { FleetError, type Problem } from '../../../shared/base/errors.ts';
import type { CredentialSource } from '../../../fleet/inventory/fleet.ts';
import { describeSource } from '../../../fleet/inventory/secret.ts';
import type { NetworkChoice } from '../choices.ts';
import type { AzureQuestions, Wizard } from '../wizard-context.ts';

/** What a credential that works may do. */
export interface Seen {
  readonly client: AzureQuestions;
  /** Names of the pools for jobs, the service's own left out. */
  readonly pools: readonly string[];
  readonly managed: readonly string[];
  readonly mayWrite: boolean | undefined;
  /** Undefined: it may not list them. */
  readonly projects: readonly string[] | undefined;
  readonly jobs: ParallelJobs | undefined;
}

/** Asks the server, and changes nothing there. A problem: it does not answer, or refuses the credential. */
export async function tryCredential(
  wizard: Wizard,
  way: {
    readonly organization: string;
    readonly credential: CredentialSource;
    readonly network: NetworkChoice;
  },
): Promise<Seen | Problem> {
  const { credential } = way;
  try {
    const secret = await wizard.secret(
      credential.kind === 'pat' ? credential.token : credential.secret,
      credential.kind === 'pat' ? 'the token' : 'the client secret',
      'again',
    );
    const client = wizard.azure({ ...way, secret });
    const pools = (await client.listPools()).filter(({ isHosted }) => isHosted !== true);
    const read = await readParallelJobs(client, wizard.context.log);
    return {
      client,
      pools: pools.map(({ name }) => name),
      managed: await client.managedPools(),
      mayWrite: await client.mayWritePools(),
      projects: await client.listProjects(),
      jobs: read?.permitted === undefined ? undefined : read,
    };
  } catch (error) {
    if (!(error instanceof FleetError) || wizard.context.signal.aborted) throw error;
    return error.problem;
  }
}

/** What it can and cannot do, each with its cure. Pure. */
export function rightsLines(
  organization: string,
  credential: CredentialSource,
  { pools, managed, mayWrite, projects }: Omit<Seen, 'client' | 'jobs'>,
): string[] {
  const source = describeSource(credential.kind === 'pat' ? credential.token : credential.secret);
  return [
    `✔ ${organization} accepts ${source}; pools there: ${pools.length}`,
    mayWrite === false
      ? '✗ it may not register agents. Next: give the token the scope "Agent Pools (Read & manage)"'
      : managed.length > 0
        ? `✔ its user administers ${managed.length === 1 ? `the pool ${managed[0]}` : `${managed.length} pools`}`
        : '! its user administers no pool. Next: Organization settings > Agent pools > Security > add the user as Administrator; or have the pool made by one',
    projects === undefined
      ? '! it may not list projects, so their names are typed below'
      : `✔ it sees ${projects.length} project${projects.length === 1 ? '' : 's'}`,
  ];
}
