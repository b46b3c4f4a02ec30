import type { FakeRequest } from './state.ts';

interface Sorted {
  readonly request: FakeRequest;
  /** Which list, then the place in it: larger comes later. */
  readonly place: readonly [part: number, by: number, id: number];
}

/** The service's order: what runs by its start, what waits by its age, what is finished from the newest back. */
function sorted(request: FakeRequest): Sorted {
  const { requestId, assignTime = 0, finishTime = 0 } = request;
  if (request.result !== undefined) return { request, place: [2, -finishTime, -requestId] };
  return { request, place: request.agentId === undefined ? [1, 0, requestId] : [0, assignTime, requestId] };
}

function later(a: Sorted['place'], b: Sorted['place']): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

/** Running, waiting, finished; undefined: nobody gave out such a token. `next` is there when something follows. */
export function firstPage(
  requests: readonly FakeRequest[],
  top: number,
  token: string | undefined,
): { readonly requests: readonly FakeRequest[]; readonly next?: string } | undefined {
  const after = token?.split('|').map(Number);
  if (after !== undefined && (after.length !== 3 || after.some(Number.isNaN))) return undefined;
  const [part = -1, by = 0, id = 0] = after ?? [];
  const rest = requests
    .map(sorted)
    .filter(({ place }) => after === undefined || later(place, [part, by, id]) > 0)
    .toSorted((a, b) => later(a.place, b.place));
  const page = rest.slice(0, top);
  const last = rest.length > top ? page.at(-1) : undefined;
  return {
    requests: page.map(({ request }) => request),
    ...(last === undefined ? {} : { next: last.place.join('|') }),
  };
}
