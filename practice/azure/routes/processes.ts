import { list, ok, refusal, type Route } from '../http/reply.ts';
import { processes } from '../world/processes.ts';

function describe(baseUrl: string, { id, name }: (typeof processes)[number]) {
  const url = `${baseUrl}/_apis/process/processes/${id}`;
  const isDefault = id === processes[0].id;
  return { id, name, description: '', isDefault, type: 'system', url, _links: { self: { href: url } } };
}

/** What a client that makes a project chooses its process from. */
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
