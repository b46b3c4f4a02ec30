import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { challenges } from './access.ts';
import { serviceHeaders, type Reply } from './reply.ts';

/** Sends an answer as the service dresses it; `origin` is the server's own. A list goes out in pieces. */
export async function write(response: ServerResponse, reply: Reply, origin = ''): Promise<void> {
  const { json, items, content = { type: 'text/html; charset=utf-8', bytes: reply.html } } = reply;
  const asJson = json !== undefined || items !== undefined;
  const version = reply.apiVersion === undefined ? '' : `; api-version=${reply.apiVersion}`;
  const headers = serviceHeaders(asJson ? `application/json; charset=utf-8${version}` : content.type);
  if (!asJson && content.bytes === undefined) delete headers['content-type'];
  response.writeHead(reply.status, {
    ...headers,
    ...(reply.status === 401 ? { 'www-authenticate': challenges(origin) } : {}),
    ...reply.headers,
  });
  if (items !== undefined) {
    await pipeline(Readable.from(pieces(items)), response).catch((error: unknown) => {
      if (!hungUp(error)) throw error;
    });
  } else response.end(json === undefined ? content.bytes : JSON.stringify(json));
}

/** A caller that hangs up in the middle has what it wanted. */
function hungUp(error: unknown): boolean {
  const { code } = Object(error) as { code?: unknown };
  return hangUps.some((each) => each === code);
}

const hangUps = ['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ECONNRESET', 'EPIPE'];

/** Characters that are put together before they go out. */
const pieceSize = 256 * 1024;

function* pieces({ count, value }: NonNullable<Reply['items']>): Iterable<string> {
  let piece = `{"count":${count},"value":[`;
  let separator = '';
  for (const item of value) {
    piece += `${separator}${JSON.stringify(item)}`;
    separator = ',';
    if (piece.length < pieceSize) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]}`;
}
