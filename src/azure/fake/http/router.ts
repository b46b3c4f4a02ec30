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

/** The answer of the first route that fits; undefined when none does. */
export async function route(routes: readonly Route[], call: FakeCall): Promise<Reply | undefined> {
  for (const [method, pattern, handler] of routes) {
    const match = method === call.method ? matched(pattern, call.path) : null;
    if (match !== null) return await handler(call, ...match.slice(1));
  }
  return undefined;
}

/** Whether a path would be answered under another method; OPTIONS asks about paths, it is none of theirs. */
export function isRouted(routes: readonly Route[], path: string): boolean {
  return routes.some(([method, pattern]) => method !== 'OPTIONS' && matched(pattern, path) !== null);
}
