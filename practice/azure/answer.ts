import { negotiate } from './discovery/api-version.ts';
import { locationOf } from './discovery/locations.ts';
import { discoveryRoutes } from './discovery/routes.ts';
import type { Caller } from './http/access.ts';
import { bodyRefusal } from './http/body.ts';
import { oauthRoutes } from './http/oauth.ts';
import { queryRefusal } from './http/query-refusal.ts';
import { accessDenied, type FakeCall, type Reply, type Route } from './http/reply.ts';
import { isRouted, route, routed, withoutSlash } from './http/router.ts';
import { planReads, planRoutes } from './routes/agent/plans.ts';
import { requestRoutes } from './routes/agent/requests.ts';
import { sessionRoutes } from './routes/agent/sessions.ts';
import { taskRoutes } from './routes/agent/tasks.ts';
import { timelineReads, timelineRoutes } from './routes/agent/timelines.ts';
import { managementRoutes, sharedRoutes } from './routes/management.ts';

/** What jobs said. */
const reads: readonly Route[] = [...planReads, ...timelineReads];
/** What personal access tokens and service principals may ask. */
export const management: readonly Route[] = [
  ...discoveryRoutes,
  ...managementRoutes,
  ...reads,
  ...taskRoutes,
];
/** What an agent's own access token is good for. */
export const protocol: readonly Route[] = [
  ...discoveryRoutes,
  ...sessionRoutes,
  ...requestRoutes,
  ...sharedRoutes,
  ...taskRoutes,
];
/** What the token of a job is good for: its worker calls with it. */
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

/** The service's answer to a call below the organisation, in the version that it asks for. */
export async function answer(caller: Caller, call: FakeCall, asked: string | undefined): Promise<Reply> {
  const login = await route(oauthRoutes, call);
  if (login !== undefined) return login;
  if (caller.kind === 'anonymous') return caller.reply;
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
