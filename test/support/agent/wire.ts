import { readFileSync } from 'node:fs';
import type { SentRequest } from './front.ts';

interface Recorded extends SentRequest {
  readonly scenario: string;
  readonly event?: string;
}

const file = new URL('../../fixtures/agent/wire-5.278.jsonl', import.meta.url);

/** Requests of the real agent in one of the recorded scenarios. */
export function recorded(scenario: string): readonly SentRequest[] {
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Recorded)
    .filter((line) => line.scenario === scenario && line.event === undefined);
}

const guid = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/giu;
const noGuid = '00000000-0000-0000-0000-000000000000';

/** `GET /_apis/distributedtask/pools/N/messages?sessionId=ID`: method, path and query without what differs each time. */
export function shapeOf({ method, url }: SentRequest): string {
  const [path = '', query = ''] = url.replace(/^.*?\/lab\//u, '/').split('?');
  const plain = (text: string): string =>
    text
      .replaceAll(guid, (found) => (found === noGuid ? found : 'ID'))
      .replaceAll(/(?<=[/=])\d+(?=$|[/&])/gu, 'N');
  const named = query.replaceAll(/(?<=agentName=|poolName=)[^&]+/gu, 'NAME');
  return `${method} ${plain(path)}${named === '' ? '' : `?${plain(named)}`}`;
}

/**
 * Requests for the server's addresses, and logins: their number depends on the client library, so that the
 * recorded ones are no evidence.
 */
export function isDiscovery({ url }: SentRequest): boolean {
  return /\/_apis\/(?:\?|$)|\/_apis\/connectionData|\/_apis\/oauth2\/|\/_apis\/FeatureFlags\//u.test(url);
}

/** The task of a step: the recorded agent had it already. */
export function isTask({ url }: SentRequest): boolean {
  return url.includes('/_apis/distributedtask/tasks/');
}

/** The worker's reports about its job: in batches, whose number and order depend on timing. */
export function isOfPlan({ url }: SentRequest): boolean {
  return url.includes('/plans/');
}

/** `value[].log.id: number`: each member of the bodies of requests of one shape, with the types that it has. */
export function membersOf(requests: readonly SentRequest[]): ReadonlyMap<string, ReadonlySet<string>> {
  const members = new Map<string, Set<string>>();
  for (const { body } of requests) collect(body, '', members);
  return members;
}

function collect(value: unknown, path: string, members: Map<string, Set<string>>): void {
  if (Array.isArray(value)) {
    for (const each of value) collect(each, `${path}[]`, members);
    return;
  }
  if (typeof value === 'object' && value !== null) {
    // Capabilities differ by machine.
    for (const [name, member] of Object.entries(value)) {
      if (path !== '.systemCapabilities') collect(member, `${path}.${name}`, members);
    }
    return;
  }
  const known = members.get(path) ?? new Set();
  members.set(path, known.add(value === null ? 'null' : typeof value));
}
