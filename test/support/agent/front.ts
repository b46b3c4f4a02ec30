import { once } from 'node:events';
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** One request that an agent sent, in the form of the recorded ones. */
export interface SentRequest {
  readonly method: string;
  /** With its query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed if it is JSON; undefined without a body. */
  readonly body?: unknown;
  status?: number;
}

/** Instead of the practice server's answer. */
interface OwnAnswer {
  readonly status: number;
  readonly content: string | Buffer;
}

/** A proxy of the practice server: records requests, and can be down, so that connections are refused. */
export class Front {
  readonly sent: SentRequest[] = [];
  /** Its own answers, instead of the server's. */
  answer: (request: SentRequest) => OwnAnswer | undefined | Promise<OwnAnswer> = () => undefined;
  readonly #target: URL;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((request, response) => void this.#pass(request, response));
  #port = 0;

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  static async before(origin: string): Promise<Front> {
    const front = new Front(origin);
    await front.comeBack();
    return front;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async goAway(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async comeBack(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const content = await buffer(request);
    const sent: SentRequest = { method, url, headers, ...bodyOf(content, headers['content-type']) };
    if (!url.startsWith('/_fake')) this.sent.push(sent);
    const own = await this.answer(sent);
    if (own !== undefined) {
      response.writeHead(own.status, { 'content-type': 'application/json' }).end(own.content);
      return;
    }
    const passed = forward({
      host: this.#target.hostname,
      port: this.#target.port,
      method,
      path: url,
      headers,
    });
    response.once('close', () => passed.destroy());
    passed.once('error', () => response.destroy());
    passed.once('response', (answer) => {
      sent.status = answer.statusCode ?? 0;
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.end(content);
  }
}

function bodyOf(content: Buffer, type = ''): { readonly body?: unknown } {
  if (content.length === 0) return {};
  const text = content.toString('utf8');
  if (type.startsWith('application/json')) return { body: JSON.parse(text) as unknown };
  if (!type.includes('form')) return { body: text };
  const { client_assertion: assertion = '', ...form } = Object.fromEntries(new URLSearchParams(text));
  return { body: { ...form, client_assertion: claimsOf(assertion) } };
}

/** A signed assertion in the form of the recorded ones. */
function claimsOf(assertion: string): object {
  const [header, payload] = assertion
    .split('.')
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as object);
  return { header, payload, signature: '…' };
}
