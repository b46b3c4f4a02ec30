import { randomUUID } from 'node:crypto';
import { rule, type Fake } from '../fake.ts';
import type { FakeAgent, FakeRequest } from '../state.ts';
import { scriptTask, scriptTaskVersionText } from './script-task.ts';
import { jobVariables, noCommit, stepEnvironment } from './variables.ts';

/**
 * The body of a job message: what listener and worker read of one (Pipelines.AgentJobRequestMessage), each member
 * without which they fail being there (run, §2.11 of the project's notes). Makes the token that the worker calls with.
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

/** The token of a job is good for its plan alone. Those that ended long ago are forgotten. */
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
