import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { sha256 } from '../../src/shared/base/digest.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export const user = { name: 'ci', password: 'pass:word', refresh: 'refresh-1' } as const;

/**
 * Starts a registry that behaves as the large ones: it asks every client for a token, which its token server issues for a
 * password or a refresh token (for a public image, to any client), and it stores contents on another server. That server
 * refuses requests with a token, as object stores do. Manifests are sent only to clients that accept their kind.
 */
export class StandinRegistry {
  readonly contents = new Map<string, Buffer>();
  /** Kinds of manifests, by digest (hex). */
  readonly kinds = new Map<string, string>();
  readonly #servers: Server[] = [];
  isPublic = true;
  /** Answered requests of contents. */
  readonly given: string[] = [];
  address = '';

  async start(): Promise<void> {
    const [store, tokens] = [
      await this.#serve((request, response) => this.#store(request, response)),
      await this.#serve((request, response) => void this.#token(request, response)),
    ];
    this.address = await this.#serve((request, response) => this.#answer(request, response, store, tokens));
  }

  stop(): void {
    for (const server of this.#servers) server.close().closeAllConnections();
  }

  add(content: Buffer | string, kind?: string): { digest: string; size: number } {
    const bytes = Buffer.from(content);
    const digest = sha256(bytes);
    this.contents.set(digest, bytes);
    if (kind !== undefined) this.kinds.set(digest, kind);
    return { digest: `sha256:${digest}`, size: bytes.length };
  }

  async #serve(answer: Answer): Promise<string> {
    const server = createServer(answer).listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.#servers.push(server);
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  #answer(request: IncomingMessage, response: ServerResponse, store: string, tokens: string): void {
    if (request.headers.authorization !== 'Bearer token-1') {
      const scope = 'repository:team/x:pull';
      const challenge = `Bearer realm="http://${tokens}/token",service="registry",scope="${scope}"`;
      response.writeHead(401, { 'www-authenticate': challenge }).end('{"errors":[{"code":"UNAUTHORIZED"}]}');
      return;
    }
    const [, kind = '', digest = ''] =
      /^\/v2\/team\/x\/(manifests|blobs)\/sha256:([0-9a-f]{64})$/.exec(request.url ?? '') ?? [];
    const content = this.contents.get(digest);
    const isManifest = this.kinds.has(digest);
    if (content === undefined || isManifest !== (kind === 'manifests')) {
      response.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN"}]}');
      return;
    }
    if (!isManifest) {
      response.writeHead(307, { location: `http://${store}/${digest}` }).end();
      return;
    }
    const mediaType = this.kinds.get(digest) ?? '';
    const accepted = (request.headers.accept ?? '').split(/, */).includes(mediaType);
    this.given.push(`manifest ${digest}`);
    response.writeHead(accepted ? 200 : 404, { 'content-type': mediaType }).end(accepted ? content : '');
  }

  #store(request: IncomingMessage, response: ServerResponse): void {
    const digest = (request.url ?? '').slice(1);
    const isShown = request.headers.authorization !== undefined;
    if (!isShown) this.given.push(`blob ${digest}`);
    response.writeHead(isShown ? 400 : 200).end(isShown ? '' : this.contents.get(digest));
  }

  async #token(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const part of request) body += String(part);
    const form = new URLSearchParams(body);
    const basic = Buffer.from(`${user.name}:${user.password}`).toString('base64');
    const known =
      request.method === 'POST'
        ? form.get('grant_type') === 'refresh_token' && form.get('refresh_token') === user.refresh
        : request.headers.authorization === `Basic ${basic}` ||
          (this.isPublic && request.headers.authorization === undefined);
    const name = request.method === 'POST' ? 'access_token' : 'token';
    response.writeHead(known ? 200 : 401).end(known ? JSON.stringify({ [name]: 'token-1' }) : '{}');
  }
}
