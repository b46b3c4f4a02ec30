import { negotiate } from './discovery/api-version.ts';
import { locationOf } from './discovery/locations.ts';
import { discoveryRoutes } from './discovery/routes.ts';
import type { Caller } from './http/access.ts';
import { bodyRefusal, queryRefusal } from './http/arguments.ts';
import { oauthRoutes } from './http/oauth.ts';
import { type FakeCall, type Reply, type Route, accessDenied } from './http/reply.ts';
import { isRouted, route, routed, withoutSlash } from './http/router.ts';
import { jobRequestRoutes, sessionRoutes } from './routes/agent-listener.ts';
import { planReads, planRoutes, taskRoutes, timelineReads, timelineRoutes } from './routes/agent-worker.ts';
import { agentRoutes } from './routes/agents.ts';
import { buildRoutes } from './routes/builds.ts';
import { maintenanceRoutes } from './routes/maintenance.ts';
import { packageRoutes, refreshRoutes, updateRoutes } from './routes/packages.ts';
import { permissionRoutes, pipelineRoutes } from './routes/pipelines.ts';
import { poolRoutes } from './routes/pools.ts';
import { processRoutes, projectRoutes } from './routes/projects.ts';
import { queueRoutes } from './routes/queues.ts';
import { requestRoutes } from './routes/requests.ts';
import { resourceUsageRoutes } from './routes/resource-usage.ts';

/** Routes that give clients and agents the same answer. */
const sharedRoutes: readonly Route[] = [...packageRoutes, ...updateRoutes];

/** Routes with which clients manage pools, agents and queues. */
export const managementRoutes: readonly Route[] = [
  ...poolRoutes,
  ...agentRoutes,
  ...requestRoutes,
  ...refreshRoutes,
  ...maintenanceRoutes,
  ...resourceUsageRoutes,
  ...projectRoutes,
  ...processRoutes,
  ...queueRoutes,
  ...permissionRoutes,
  ...pipelineRoutes,
  ...buildRoutes,
  ...sharedRoutes,
];

/** Routes with the output of jobs. */
const reads: readonly Route[] = [...planReads, ...timelineReads];
/** Routes for personal access tokens and service principals. */
export const management: readonly Route[] = [
  ...discoveryRoutes,
  ...managementRoutes,
  ...reads,
  ...taskRoutes,
];
/** Routes for an agent's access token. */
export const protocol: readonly Route[] = [
  ...discoveryRoutes,
  ...sessionRoutes,
  ...jobRequestRoutes,
  ...sharedRoutes,
  ...taskRoutes,
];
/** Routes for the token of a job, with which its worker calls. */
export const work: readonly Route[] = [
  ...discoveryRoutes,
  ...reads,
  ...planRoutes,
  ...timelineRoutes,
  ...taskRoutes,
];

export const notFound: Reply = {
  status: 404,
  html: '<html><body>404 - File or directory not found.</body></html>',
};

/** The methods that a read-only token may use. */
const reading = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Returns the service's answer to a call below the organisation, in the version that the call requests. */
export async function answer(caller: Caller, call: FakeCall, asked: string | undefined): Promise<Reply> {
  const login = await route(oauthRoutes, call);
  if (login !== undefined) return login;
  if (caller.kind === 'anonymous') return caller.reply;
  if (caller.kind === 'client' && caller.writes !== undefined && !reading.has(call.method))
    return caller.writes;
  if (caller.kind === 'client' && isBeyond(call)) return caller.beyond;
  const routes = routesOf(caller);
  if (call.method === 'OPTIONS') return (await route(routes, call)) ?? notFound;
  const location = locationOf(withoutSlash(call.path));
  if (location === undefined) return notFound;
  const negotiated = negotiate(location, call.method, asked);
  if ('refused' in negotiated) return negotiated.refused;
  const serve = routed(routes, call);
  const reply =
    serve === undefined
      ? unserved(caller, routes, call)
      : (queryRefusal(call.query) ?? bodyRefusal(call, location.resourceName) ?? (await serve()));
  return { ...reply, apiVersion: negotiated.version };
}

/** Paths that need a scope of their own, by its name in `denied`. */
const scopes = {
  'builds.read': /\/_apis\/build\//iu,
  'permissions.read': /\/_apis\/pipelines\/pipelinepermissions\//iu,
} as const;

/** Tells whether the token lacks the scope to read this. */
function isBeyond({ fake, method, path }: FakeCall): boolean {
  return (
    reading.has(method) &&
    (Object.keys(scopes) as (keyof typeof scopes)[]).some(
      (name) => fake.denied.has(name) && scopes[name].test(path),
    )
  );
}

function routesOf(caller: Exclude<Caller, { readonly kind: 'anonymous' }>): readonly Route[] {
  if (caller.kind === 'client') return management;
  return caller.requestId === undefined ? protocol : work;
}

function unserved(caller: Caller, routes: readonly Route[], { method, path }: FakeCall): Reply {
  if (caller.kind === 'agent') return accessDenied('more than the access token of an agent allows');
  const known = isRouted(routes, path);
  const message = known
    ? `The requested resource does not support http method '${method}'.`
    : 'The request is invalid.';
  return { status: known ? 405 : 400, json: { count: 1, value: { Message: message } } };
}
