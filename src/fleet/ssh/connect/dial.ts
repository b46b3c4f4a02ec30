import { connect as tcpConnect } from 'node:net';
import type { Duplex } from 'node:stream';

import type { ConnectionOptions } from '../config/connection-options.ts';

/** A TCP connection. Rejects with the socket's error, or ETIMEDOUT after the given time. */
export function dialTcp(options: ConnectionOptions, signal: AbortSignal | undefined): Promise<Duplex> {
  const { hostname: host, port, family, bindAddress, connectTimeoutMs } = options;
  return new Promise((resolve, reject) => {
    const socket = tcpConnect({
      host,
      port,
      noDelay: true,
      ...(family === undefined ? {} : { family }),
      ...(bindAddress === undefined ? {} : { localAddress: bindAddress }),
    });
    const timer = connectTimeoutMs === 0 ? undefined : setTimeout(() => fail(timeout()), connectTimeoutMs);
    const abort = (): void => fail(signal?.reason as Error);
    const fail = (error: Error): void => {
      clean();
      socket.destroy();
      reject(error);
    };
    const clean = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      socket.removeListener('error', fail);
    };
    socket.once('error', fail);
    socket.once('connect', () => {
      clean();
      resolve(socket);
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}

function timeout(): Error {
  return Object.assign(new Error('no answer to the TCP connection request'), { code: 'ETIMEDOUT' });
}
