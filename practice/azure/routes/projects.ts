import {
  badRequest,
  flag,
  invalidArgument,
  isGuid,
  nameIn,
  nameRefusal,
  parameter,
  visibilities,
} from '../http/arguments.ts';
import { type FakeCall, type Reply, type Route, list, ok, refusal, textOf } from '../http/reply.ts';
import { type Fake, nextId } from '../world/fake.ts';
import { firstQueues, newProject, processes } from '../world/new-organization.ts';
import type { FakeProject } from '../world/state.ts';

/** Finds a project by the name or Guid in a path. */
export function findProject(fake: Fake, name: string): FakeProject | undefined {
  const desired = decodeURIComponent(name).toLowerCase();
  return fake.state.projects.find(
    (project) => project.name.toLowerCase() === desired || project.id === desired,
  );
}

const namespace = 'Microsoft.TeamFoundation.Core.WebApi';

export function projectMissing(name: string): Reply {
  const desired = decodeURIComponent(name);
  const typeKey = isGuid(desired) ? 'ProjectDoesNotExistException' : 'ProjectDoesNotExistWithNameException';
  const advice =
    'Verify that the name of the project is correct and that the project exists on the specified Azure DevOps Server.';
  const message = `TF200016: The following project does not exist: ${desired}. ${advice}`;
  return refusal(404, typeKey, message, namespace);
}

/** The service executes changes of projects later; here they are done when it says so. */
function accepted({ fake, baseUrl }: FakeCall): Reply {
  const id = crypto.randomUUID();
  fake.state.operations = [...fake.state.operations.slice(-999), id];
  fake.changed();
  return { status: 202, json: { id, status: 'notSet', url: `${baseUrl}/_apis/operations/${id}` } };
}

const nameRule = { parameter: 'projectToCreate.Name', what: 'Project', longest: 64 };

/** Returns the Guid of the process for a project, the default if none is named; undefined: an unknown process. */
function processIn(body: FakeCall['body']): string | undefined {
  const { processTemplate } = Object(body['capabilities']) as { processTemplate?: unknown };
  const { templateTypeId = null } = Object(processTemplate) as { templateTypeId?: unknown };
  if (templateTypeId === null) return processes[0].id;
  return processes.find(({ id }) => typeof templateTypeId === 'string' && id === templateTypeId.toLowerCase())
    ?.id;
}

const visibilityOf = (body: FakeCall['body']) => nameIn(visibilities, body['visibility'] ?? 'unchanged');

function addProject(call: FakeCall): Reply {
  const { fake, body } = call;
  const refused = nameRefusal(body['name'], nameRule);
  if (refused !== undefined) return refused;
  const visibility = visibilityOf(body);
  if (visibility === undefined) return badRequest;
  const name = textOf(body, 'name').trim();
  if (findProject(fake, encodeURIComponent(name)) !== undefined) return projectExists(name);
  const process = processIn(body);
  if (process === undefined) return invalidArgument('There is no such process.', 'processTemplate');
  const project = newProject(name, fake.now());
  if (textOf(body, 'description') !== '') project.description = textOf(body, 'description');
  if (visibility !== 'unchanged') project.visibility = visibility;
  project.processTemplate = process;
  fake.state.projects.push(project);
  fake.state.queues.push(...firstQueues(fake.state.pools, project, () => nextId(fake)));
  return accepted(call);
}

function projectExists(name: string): Reply {
  const message = `TF200019: The following project already exists on the Azure DevOps Server: ${name}. You cannot create a new project with the same name as an existing project. Provide a different name.`;
  return refusal(400, 'ProjectAlreadyExistsException', message, namespace);
}

function changeProject(call: FakeCall, id: string): Reply {
  const { fake, body } = call;
  const project = findProject(fake, id);
  if (project === undefined) return projectMissing(id);
  const visibility = visibilityOf(body);
  const refused = body['name'] ? nameRefusal(body['name'], nameRule) : undefined;
  if (refused !== undefined) return refused;
  if (visibility === undefined) return badRequest;
  const name = textOf(body, 'name').trim();
  const other = name === '' ? undefined : findProject(fake, encodeURIComponent(name));
  if (other !== undefined && other !== project) return projectExists(name);
  if (name !== '') project.name = name;
  if (typeof body['description'] === 'string') project.description = body['description'];
  if (visibility !== 'unchanged') project.visibility = visibility;
  project.revision += 1;
  project.lastUpdateTime = new Date(fake.now()).toISOString();
  return accepted(call);
}

/** Finds a project by its Guid only: the service refuses a name here. */
function deleteProject(call: FakeCall, id: string): Reply {
  const { fake } = call;
  if (!isGuid(id)) return invalidArgument(`${decodeURIComponent(id)} is not a Guid.`, 'projectId');
  const project = findProject(fake, id);
  if (project === undefined) return projectMissing(id);
  fake.state.projects = fake.state.projects.filter((each) => each !== project);
  fake.state.queues = fake.state.queues.filter((queue) => queue.project !== project.id);
  return accepted(call);
}

/** All projects are well-formed: any filter except that for new or deleted ones matches them. */
function findProjects({ fake, query, baseUrl }: FakeCall): Reply {
  const state = parameter(query, 'stateFilter')?.toLowerCase() ?? 'wellformed';
  const found = ['all', 'wellformed', 'unchanged'].includes(state) ? fake.state.projects : [];
  const from = Number(parameter(query, '$skip') ?? parameter(query, 'continuationToken') ?? 0) || 0;
  const top = Number(parameter(query, '$top') ?? Infinity) || Infinity;
  const page = found.slice(from, from + top);
  const reply = list(page.map((project) => describeProjectReference(baseUrl, project)));
  const next = from + page.length;
  return next < found.length ? { ...reply, headers: { 'x-ms-continuationtoken': String(next) } } : reply;
}

const all = /^\/_apis\/projects$/iu;
const one = /^\/_apis\/projects\/([^/]+)$/iu;

export const projectRoutes: readonly Route[] = [
  ['GET', all, findProjects],
  ['POST', all, addProject],
  [
    'GET',
    one,
    ({ fake, query, baseUrl }, name = '') => {
      const project = findProject(fake, name);
      return project === undefined
        ? projectMissing(name)
        : ok(describeProject(fake, baseUrl, project, flag(query, 'includeCapabilities')));
    },
  ],
  ['PATCH', one, (call, id = '') => changeProject(call, id)],
  ['DELETE', one, (call, id = '') => deleteProject(call, id)],
  [
    'GET',
    /^\/_apis\/operations\/([^/]+)$/iu,
    ({ fake, baseUrl }, id = '') => {
      const url = `${baseUrl}/_apis/operations/${id}`;
      if (!fake.state.operations.includes(id.toLowerCase())) {
        return refusal(
          404,
          'OperationNotFoundException',
          `Operation ${decodeURIComponent(id)} was not found.`,
        );
      }
      return ok({ id, status: 'succeeded', url, _links: { self: { href: url } } });
    },
  ],
];

const processName = (id: string): string =>
  (processes.find((each) => each.id === id.toLowerCase()) ?? processes[0]).name;

/** Returns a project in the list of projects. */
function describeProjectReference(baseUrl: string, project: FakeProject) {
  const { id, name, description, revision, visibility, lastUpdateTime } = project;
  return {
    id,
    name,
    ...(description === undefined ? {} : { description }),
    url: `${baseUrl}/_apis/projects/${id}`,
    state: 'wellFormed',
    revision,
    visibility,
    lastUpdateTime,
  };
}

/** Returns the project with this name or id. */
function describeProject(fake: Fake, baseUrl: string, project: FakeProject, capabilities: boolean) {
  const reference = describeProjectReference(baseUrl, project);
  const templateTypeId = project.processTemplate;
  return {
    ...reference,
    ...(capabilities
      ? {
          capabilities: {
            processTemplate: { templateName: processName(templateTypeId), templateTypeId },
            versioncontrol: { sourceControlType: 'Git', gitEnabled: 'True', tfvcEnabled: 'False' },
          },
        }
      : {}),
    _links: {
      self: { href: reference.url },
      collection: { href: `${baseUrl}/_apis/projectCollections/${fake.state.collectionId}` },
      web: { href: `${baseUrl}/${encodeURIComponent(project.name)}` },
    },
    defaultTeam: {
      id: project.teamId,
      name: `${project.name} Team`,
      url: `${reference.url}/teams/${project.teamId}`,
    },
  };
}

function describe(baseUrl: string, { id, name }: (typeof processes)[number]) {
  const url = `${baseUrl}/_apis/process/processes/${id}`;
  const isDefault = id === processes[0].id;
  return { id, name, description: '', isDefault, type: 'system', url, _links: { self: { href: url } } };
}

/** The processes that a client can choose for a new project. */
export const processRoutes: readonly Route[] = [
  [
    'GET',
    /^\/_apis\/process\/processes$/iu,
    ({ baseUrl }) => list(processes.map((each) => describe(baseUrl, each))),
  ],
  [
    'GET',
    /^\/_apis\/process\/processes\/([^/]+)$/iu,
    ({ baseUrl }, id = '') => {
      const found = processes.find((each) => each.id === id.toLowerCase());
      if (found !== undefined) return ok(describe(baseUrl, found));
      const message = `VS402362: There is no process with type id ${decodeURIComponent(id)}.`;
      return refusal(404, 'ProcessNotFoundException', message, 'Microsoft.TeamFoundation.Server.Core');
    },
  ],
];
