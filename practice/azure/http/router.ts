import type { FakeCall, Reply, Route } from './reply.ts';

const anyCase = new WeakMap<RegExp, RegExp>();

/** The service ignores the case of a path and a trailing slash. */
function matched(pattern: RegExp, path: string): RegExpExecArray | null {
  let loose = anyCase.get(pattern);
  if (loose === undefined) {
    loose = new RegExp(pattern.source, 'iu');
    anyCase.set(pattern, loose);
  }
  return loose.exec(withoutSlash(path));
}

export function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

/** Returns the first matching route; undefined if none matches. */
export function routed(routes: readonly Route[], call: FakeCall): (() => Reply | Promise<Reply>) | undefined {
  for (const [method, pattern, handler] of routes) {
    const match = method === call.method ? matched(pattern, call.path) : null;
    if (match !== null) return () => handler(call, ...match.slice(1));
  }
  return undefined;
}

export async function route(routes: readonly Route[], call: FakeCall): Promise<Reply | undefined> {
  return await routed(routes, call)?.();
}

/** Returns whether a path has a route for another method; OPTIONS asks about paths and is no method of theirs. */
export function isRouted(routes: readonly Route[], path: string): boolean {
  return routes.some(([method, pattern]) => method !== 'OPTIONS' && matched(pattern, path) !== null);
}
