import type { FakeCall, Reply, Route } from './reply.ts';

const anyCase = new WeakMap<RegExp, RegExp>();

/** The service minds neither the case of a path nor a slash at its end. */
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

/** What answers a call: the first route that fits; undefined when none does. */
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

/** Whether a path would be answered under another method; OPTIONS asks about paths, it is none of theirs. */
export function isRouted(routes: readonly Route[], path: string): boolean {
  return routes.some(([method, pattern]) => method !== 'OPTIONS' && matched(pattern, path) !== null);
}
