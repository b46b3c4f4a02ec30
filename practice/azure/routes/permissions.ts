import { accessDenied, list, ok, type FakeCall, type Reply, type Route } from '../http/reply.ts';
import { describePermissions } from '../shapes/queue.ts';
import type { FakeQueue } from '../world/state.ts';
import { queueOf } from './queues.ts';

/** What a PATCH changes: all pipelines, and each that it names. */
function permit({ fake }: FakeCall, queue: FakeQueue, body: unknown): void {
  const { allPipelines, pipelines } = Object(body) as {
    allPipelines?: { authorized?: unknown } | null;
    pipelines?: unknown;
  };
  const now = new Date(fake.now()).toISOString();
  if (allPipelines?.authorized === true) queue.openSince ??= now;
  if (allPipelines?.authorized === false) delete queue.openSince;
  for (const each of Array.isArray(pipelines) ? pipelines : []) {
    const { id, authorized } = Object(each) as { id?: unknown; authorized?: unknown };
    if (typeof id !== 'number') continue;
    const known = queue.pipelines.some((other) => other.id === id);
    if (authorized === true && !known) queue.pipelines.push({ id, authorizedOn: now });
    if (authorized === false) queue.pipelines = queue.pipelines.filter((other) => other.id !== id);
  }
}

function change(call: FakeCall, project: string, id: string, body: unknown): Reply {
  const { fake, baseUrl } = call;
  const queue = queueOf(fake, project, id);
  if ('status' in queue) return queue;
  if (fake.denied.has('queues.authorize')) {
    return accessDenied('Administer permissions for the agent queue');
  }
  permit(call, queue, body);
  fake.changed();
  return ok(describePermissions(baseUrl, queue));
}

/** Ids are text here; some clients send numbers. */
const idOf = ({ id }: { readonly id?: unknown }): string =>
  typeof id === 'string' || typeof id === 'number' ? String(id) : '';

const one = /^\/([^/]+)\/_apis\/pipelines\/pipelinepermissions\/queue\/(\d+)$/iu;

export const permissionRoutes: readonly Route[] = [
  [
    'GET',
    one,
    ({ fake, baseUrl }, name = '', id = '') => {
      const found = queueOf(fake, name, id);
      return 'status' in found ? found : ok(describePermissions(baseUrl, found));
    },
  ],
  ['PATCH', one, (call, name = '', id = '') => change(call, name, id, call.body)],
  [
    'PATCH',
    /^\/([^/]+)\/_apis\/pipelines\/pipelinepermissions$/iu,
    (call, name = '') => {
      const wanted = Object.values(call.body).filter((each) => {
        const { resource } = Object(each) as { resource?: { type?: string } };
        return resource?.type === 'queue';
      }) as { resource: { id?: unknown } }[];
      const replies = wanted.map((each) => change(call, name, idOf(each.resource), each));
      return replies.find(({ status }) => status !== 200) ?? list(replies.map(({ json }) => json));
    },
  ],
];
