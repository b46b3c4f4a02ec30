import type { Fake } from '../world/fake.ts';
import { processes } from '../world/processes.ts';
import type { FakeProject } from '../world/state.ts';

const processName = (id: string): string =>
  (processes.find((each) => each.id === id.toLowerCase()) ?? processes[0]).name;

/** A project in the list of projects. */
export function describeProjectReference(baseUrl: string, project: FakeProject) {
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

/** A project that is asked for by name or id. */
export function describeProject(fake: Fake, baseUrl: string, project: FakeProject, capabilities: boolean) {
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
