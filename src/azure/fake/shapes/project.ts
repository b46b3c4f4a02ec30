import type { Fake } from '../world/fake.ts';
import { basicProcess } from '../world/new-organization.ts';
import type { FakeProject } from '../world/state.ts';

const processNames: Readonly<Record<string, string>> = {
  [basicProcess]: 'Basic',
  'adcc42ab-9882-485e-a3ed-7678f01f66bc': 'Agile',
  '6b724908-ef14-45cf-84f8-768b5384da45': 'Scrum',
  '27450541-8e31-4150-9947-dc59f998fc01': 'CMMI',
};

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
            processTemplate: { templateName: processNames[templateTypeId] ?? 'Basic', templateTypeId },
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
