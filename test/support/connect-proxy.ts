import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

/** One request for a tunnel, answered or refused. */
interface TunnelRequest {
  /** `HOST:PORT` as the client named it. */
  readonly target: string;
  /** The client's address. */
  readonly from: string;
  readonly authorization: string | undefined;
}

export interface ConnectProxy {
  /** `HOST:PORT` */
  readonly address: string;
  readonly requests: readonly TunnelRequest[];
  close(): Promise<void>;
}

/** Target of a tunnel, or the status with which it is refused. */
type Route = (request: TunnelRequest) => { readonly host: string; readonly port: number } | number;

/** A real HTTP CONNECT proxy. Only it can resolve the names, so a connection that arrives came through it. */
export async function startConnectProxy(host: string, route: Route): Promise<ConnectProxy> {
  const requests: TunnelRequest[] = [];
  const open = new Set<Socket>();
  const server = createServer((_, response) => response.writeHead(403).end());
  const tunnel = (asked: TunnelRequest, client: Socket): void => {
    requests.push(asked);
    const place = route(asked);
    if (typeof place === 'number') return void client.end(`HTTP/1.1 ${place} Refused\r\n\r\n`);
    const target = connect(place.port, place.host);
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    target.pipe(client).pipe(target);
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
    }
  };
  server.on('connect', ({ url, headers, socket }, client) =>
    tunnel(
      {
        target: url ?? '',
        from: socket.remoteAddress?.replace(/^::ffff:/, '') ?? '',
        authorization: headers['proxy-authorization'],
      },
      client as Socket,
    ),
  );
  await once(server.listen(0, host), 'listening');
  return {
    address: `${host}:${(server.address() as AddressInfo).port}`,
    requests,
    close: async () => {
      for (const socket of open) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
