import { readFileSync } from 'node:fs';
import { Agent, createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

export interface Asked {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
}

interface Exchange {
  readonly name: string;
  readonly request: Asked;
  readonly answer: { readonly status: number; readonly type: string; readonly body: unknown };
}

export const releaseBefore = '0.2.0';

/** Reads a recording of the previous release. */
export function recordedText(name: string): string {
  return readFileSync(join(import.meta.dirname, '../fixtures/releases', releaseBefore, name), 'utf8');
}

export function recorded(name: string): unknown {
  return JSON.parse(recordedText(name));
}

export function recordedAnswers(): readonly Exchange[] {
  return recorded('answers.json') as readonly Exchange[];
}

/** The control socket of a manager of the previous release. */
export interface ManagerBefore {
  readonly agent: Agent;
  /** The requests that it received. */
  readonly asked: readonly Asked[];
  close(): void;
}

/**
 * Starts a manager of the previous release, which answers as recorded for the same request, or one of the same path;
 * `changes`: other members of each answer.
 */
export async function managerBefore(changes: Readonly<Record<string, unknown>> = {}): Promise<ManagerBefore> {
  const exchanges = recordedAnswers();
  const unknownCall = answerTo(exchanges, 'what it does not know');
  const asked: Asked[] = [];
  const server = createServer((incoming, response) => {
    void text(incoming).then((raw) => {
      const method = incoming.method === 'POST' ? 'POST' : 'GET';
      const path = incoming.url ?? '';
      asked.push({ method, path, ...(raw === '' ? {} : { body: JSON.parse(raw) as unknown }) });
      const { answer } =
        exchanges.find(({ request }) => request.method === method && request.path === path) ??
        exchanges.find(({ request }) => request.path.split('?')[0] === path.split('?')[0]) ??
        {};
      // A call that this release does not have.
      const { status, type, body } = answer ?? unknownCall;
      response.writeHead(status, { 'content-type': type });
      const said = Array.isArray(body) ? body : { ...(body as object), ...changes };
      response.end(typeof body === 'string' ? body : JSON.stringify(said));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const agent: Agent = Object.assign(new Agent(), { createConnection: () => connect(port, '127.0.0.1') });
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { agent, asked, close };
}

function answerTo(exchanges: readonly Exchange[], name: string): Exchange['answer'] {
  const found = exchanges.find((each) => each.name === name);
  if (found === undefined) throw new Error(`"${name}" was not recorded`);
  return found.answer;
}
