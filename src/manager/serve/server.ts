import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Logger } from '../../shared/base/log.ts';

/** What callers of a server may use of it. */
interface ServerBound {
  /** Open connections; others are closed at once. */
  readonly connections: number;
  /** Bytes of a request's headers. */
  readonly headerBytes: number;
  /** Milliseconds for a whole request. */
  readonly requestMs: number;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * Creates an HTTP server that no caller can fill: a request that is not complete in time, or too long, is closed. An error of
 * a request, or in accepting a connection, is logged and ends nothing else.
 */
export function boundedServer(
  { connections, headerBytes, requestMs }: ServerBound,
  log: Logger,
  handle: Handler,
): Server {
  const server = createServer(
    {
      maxHeaderSize: headerBytes,
      headersTimeout: requestMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: requestMs,
    },
    (request, response) => {
      // Not `void handle(…)`: it may throw before it returns a promise.
      void (async () => handle(request, response))().catch((error: unknown) => {
        log.log('error', 'a request could not be answered', { error });
        response.destroy();
      });
    },
  );
  server.maxConnections = connections;
  // Without a listener an error would end the process: there may be no free file descriptor for a connection.
  server.on('error', (error) => {
    if (server.listening) log.log('warn', 'a connection could not be accepted', { error });
  });
  return server;
}

/** Listens at a port of loopback or at a socket path. Rejects if that is not possible. */
export async function listen(
  server: Server,
  at: { readonly port: number } | { readonly path: string },
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    const ready = (): void => {
      server.off('error', reject);
      resolve();
    };
    if ('path' in at) server.listen(at.path, ready);
    else server.listen(at.port, '127.0.0.1', ready);
  });
}
