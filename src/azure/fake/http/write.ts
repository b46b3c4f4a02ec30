import type { ServerResponse } from 'node:http';
import { challenges } from './access.ts';
import { serviceHeaders, type Reply } from './reply.ts';

/** Sends an answer as the service dresses it; `origin` is the server's own. */
export function write(response: ServerResponse, reply: Reply, origin = ''): void {
  const version = reply.apiVersion === undefined ? '' : `; api-version=${reply.apiVersion}`;
  const { content = { type: 'text/html; charset=utf-8', bytes: reply.html } } = reply;
  const type = reply.json === undefined ? content.type : `application/json; charset=utf-8${version}`;
  const bodyless = reply.json === undefined && content.bytes === undefined;
  const headers = serviceHeaders(type);
  if (bodyless) delete headers['content-type'];
  response.writeHead(reply.status, {
    ...headers,
    ...(reply.status === 401 ? { 'www-authenticate': challenges(origin) } : {}),
    ...reply.headers,
  });
  response.end(reply.json === undefined ? content.bytes : JSON.stringify(reply.json));
}
