import type { IncomingMessage } from 'node:http';
import { agentNamed, agentOf } from '../world/agent-index.ts';
import type { Fake, LoggedRequest } from '../world/fake.ts';
import { assignedRequest } from '../world/queue.ts';

const maxLogged = 20_000;

type Concerned = Pick<LoggedRequest, 'agent' | 'agentHasJob'>;

/** The agent that the call is about, as it is when the call comes. */
export function concerned(fake: Fake, path: string, name: string | undefined): Concerned {
  const [, pool, id] = /\/pools\/(\d+)\/agents(?:\/(\d+))?/u.exec(path) ?? [];
  const agent =
    id === undefined ? agentNamed(fake.state, Number(pool), name ?? '') : agentOf(fake.state, Number(id));
  if (agent === undefined) return {};
  return { agent: agent.name, agentHasJob: assignedRequest(fake, agent.id) !== undefined };
}

/** Remembers a call, without its credential. */
export function log(
  fake: Fake,
  request: IncomingMessage,
  url: URL,
  outcome: Concerned & Pick<LoggedRequest, 'caller' | 'status'>,
): void {
  fake.requestLog.push({
    n: (fake.requestLog.at(-1)?.n ?? 0) + 1,
    at: new Date(fake.now()).toISOString(),
    method: request.method ?? '',
    path: url.pathname,
    query: url.search,
    ...outcome,
  });
  if (fake.requestLog.length > maxLogged) fake.requestLog.splice(0, maxLogged / 2);
}
