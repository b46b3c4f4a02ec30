import { randomUUID } from 'node:crypto';

import { type Fake, rule } from '../fake.ts';
import type { FakeAgent, FakeRequest } from '../state.ts';
import { scriptTask, scriptTaskVersionText } from './script-task.ts';

/**
 * Returns the body of a job message: the members that listener and worker read (Pipelines.AgentJobRequestMessage), each of
 * which they need (run, §2.11 of the project's notes). Creates the token of the worker's calls.
 */
export function jobMessage(fake: Fake, request: FakeRequest, agent: FakeAgent): object {
  const url = `${agent.baseUrl}/`;
  const scopeId = scopeOf(fake, request);
  const token = jobToken(fake, request, agent);
  return {
    mask: [{ type: 'regex', value: token }],
    messageType: 'PipelineAgentJobRequest',
    plan: plan(request, scopeId, `${url}${encodeURIComponent(request.project)}`),
    timeline: { id: request.timelineId, changeId: 1, location: null },
    jobId: request.jobId,
    jobDisplayName: request.jobName,
    jobName: '__default',
    jobContainer: request.container === undefined ? null : containerAlias,
    jobSidecarContainers: {},
    requestId: request.requestId,
    lockedUntil: new Date(request.lockedUntil ?? 0).toISOString(),
    lockToken: request.lockToken,
    resources: {
      endpoints: [systemConnection(fake.organization, url, scopeId, token)],
      repositories: [selfRepository(request.project, scopeId, url)],
      ...(request.container === undefined
        ? {}
        : { containers: [{ alias: containerAlias, properties: request.container }] }),
    },
    variables: jobVariables(fake, request, { url, scopeId, token }),
    steps: [scriptStep(request)],
    workspace: {},
  };
}

const containerAlias = 'job';

/** The scope of a plan is its project. */
export function scopeOf(fake: Fake, { project }: FakeRequest): string {
  return fake.state.projects.find(({ name }) => name === project)?.id ?? project;
}

/** Creates the token of a job, which is valid for its plan only. Tokens of jobs that ended long ago are removed. */
function jobToken(fake: Fake, request: FakeRequest, agent: FakeAgent): string {
  const { accessTokens } = fake.state;
  for (const [value, { until }] of Object.entries(accessTokens)) {
    if (until + rule(fake, 'accessToken') < fake.now()) delete accessTokens[value];
  }
  const token = randomUUID();
  const until = fake.now() + rule(fake, 'jobToken');
  accessTokens[token] = { agentId: agent.id, until, requestId: request.requestId };
  return token;
}

function plan(request: FakeRequest, scopeId: string, projectUrl: string): object {
  const link = (href: string) => ({ web: { href } });
  const id = request.requestId;
  return {
    scopeIdentifier: scopeId,
    planType: 'Build',
    version: request.planVersion,
    planId: request.planId,
    planGroup: `${scopeId}:1`,
    artifactUri: `vstfs:///Build/Build/${id}`,
    artifactLocation: null,
    definition: {
      _links: link(`${projectUrl}/_build/definition?definitionId=1`),
      id: 1,
      name: request.project,
    },
    owner: { _links: link(`${projectUrl}/_build/results?buildId=${id}`), id, name: String(id) },
  };
}

function systemConnection(organization: string, url: string, scopeId: string, token: string): object {
  return {
    data: { ServerId: scopeId, ServerName: organization },
    name: 'SystemVssConnection',
    url,
    authorization: { parameters: { AccessToken: token }, scheme: 'OAuth' },
    isShared: false,
    isReady: true,
  };
}

function selfRepository(project: string, scopeId: string, url: string): object {
  const name = encodeURIComponent(project);
  return {
    alias: 'self',
    endpoint: { name: 'SystemVssConnection' },
    properties: {
      id: scopeId,
      type: 'Git',
      version: noCommit,
      name: project,
      project: scopeId,
      defaultBranch: 'refs/heads/main',
      ref: 'refs/heads/main',
      url: `${url}${name}/_git/${name}`,
      versionInfo: { author: 'practice', message: 'practice' },
      checkoutOptions: {},
    },
  };
}

function scriptStep(request: FakeRequest): object {
  return {
    type: 'task',
    reference: { ...scriptTask, version: scriptTaskVersionText },
    id: request.stepId,
    name: scriptTask.name,
    displayName: 'Command line',
    enabled: true,
    condition: 'succeeded()',
    continueOnError: false,
    timeoutInMinutes: 0,
    retryCountOnTaskFailure: 0,
    environment: stepEnvironment(request),
    inputs: { script: request.script },
  };
}

/** A variable of a job in its message. */
interface Variable {
  readonly value: string;
  readonly isSecret?: true;
}

/** The addresses of a job: the organisation's URL with a trailing slash, the project's id, the token of the job. */
interface Place {
  readonly url: string;
  readonly scopeId: string;
  readonly token: string;
}

/** Returns the variables of a build that an agent needs, and those that scripts read. */
function jobVariables(fake: Fake, request: FakeRequest, place: Place): Record<string, Variable> {
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
    // An Azure DevOps Server lets its agents replace the address in every URL of the message with the one that they know.
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
    // It would search the job's files for test results.
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
const noCommit = '0'.repeat(40);

/** Secrets reach the script as a pipeline's `env:` passes them: by a macro that the agent replaces. */
function stepEnvironment({ environment, secrets }: FakeRequest): Record<string, string> {
  return { ...environment, ...Object.fromEntries(Object.keys(secrets).map((name) => [name, `$(${name})`])) };
}

function mapValues<T>(from: Record<string, string>, change: (value: string) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(from).map(([name, value]) => [name, change(value)]));
}
