import type { Fake } from '../fake.ts';
import type { FakeRequest } from '../state.ts';

/** A variable of a job as its message has it. */
interface Variable {
  readonly value: string;
  readonly isSecret?: true;
}

/** Where the job's pieces are: the organisation's URL with a slash at its end, the project's id, the token of the job. */
interface Place {
  readonly url: string;
  readonly scopeId: string;
  readonly token: string;
}

/** The variables that an agent needs of a job of a build, and those that scripts look at. */
export function jobVariables(fake: Fake, request: FakeRequest, place: Place): Record<string, Variable> {
  const { url, scopeId, token } = place;
  const build = String(request.requestId);
  const plain: Record<string, string> = {
    'system.collectionId': fake.state.collectionId,
    'system.collectionUri': url,
    'system.teamFoundationCollectionUri': url,
    'system.taskDefinitionsUri': url,
    'system.teamProject': request.project,
    'system.teamProjectId': scopeId,
    'system.hostType': 'build',
    // A server of one's own lets its agents put the address that they know into every URL of the message.
    'system.serverType': fake.publicUrl === undefined ? 'Hosted' : 'OnPremises',
    'system.culture': 'en-US',
    'system.definitionId': '1',
    'system.planId': request.planId,
    'system.timelineId': request.timelineId,
    'system.jobId': request.jobId,
    'system.jobDisplayName': request.jobName,
    'system.jobName': '__default',
    'system.jobIdentifier': 'Job.__default',
    'system.jobAttempt': '1',
    'system.jobPositionInPhase': '1',
    'system.totalJobsInPhase': '1',
    'system.phaseName': 'Job',
    'system.phaseDisplayName': request.jobName,
    'system.phaseAttempt': '1',
    'system.stageName': '__default',
    'system.stageAttempt': '1',
    'system.pipelineStartTime': new Date(request.queueTime).toISOString(),
    'build.buildId': build,
    'build.buildNumber': build,
    'build.containerId': '1',
    'build.definitionName': request.project,
    'build.sourceBranch': 'refs/heads/main',
    'build.sourceVersion': noCommit,
    // It would look for test results in what the job leaves behind.
    'agent.disablelogplugin': 'true',
  };
  const secret = (value: string): Variable => ({ value, isSecret: true });
  return {
    ...mapValues(plain, (value) => ({ value })),
    ...mapValues(request.secrets, secret),
    'system.accessToken': secret(token),
  };
}

/** The self repository has no commits. */
export const noCommit = '0'.repeat(40);

/** Secrets reach the script as a pipeline's `env:` gives them to it: by a macro that the agent replaces. */
export function stepEnvironment({ environment, secrets }: FakeRequest): Record<string, string> {
  return { ...environment, ...Object.fromEntries(Object.keys(secrets).map((name) => [name, `$(${name})`])) };
}

function mapValues<T>(from: Record<string, string>, change: (value: string) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(from).map(([name, value]) => [name, change(value)]));
}
