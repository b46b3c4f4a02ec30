import type { IncomingMessage } from 'node:http';
import type { Fake, LoggedRequest } from '../world/fake.ts';
import { assignedRequest } from '../world/queue.ts';

const maxLogged = 20_000;

type Concerned = Pick<LoggedRequest, 'agent' | 'agentHasJob'>;

/** The agent that the call is about, as it is when the call comes. */
export function concerned(fake: Fake, path: string, name: string | null): Concerned {
  const id = /\/agents\/(\d+)/u.exec(path)?.[1];
  const agent = fake.state.agents.find((each) =>
    id === undefined ? each.name.toLowerCase() === name?.toLowerCase() : each.id === Number(id),
  );
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
