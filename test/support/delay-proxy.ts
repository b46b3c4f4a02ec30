import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy on loopback that holds every byte back for `oneWayMs` in each direction. */
export interface DelayProxy {
  readonly port: number;
  /**
   * Round trips begun so far: bytes that the client sends within one round trip after the last start belong to it. They
   * are counted rather than timed, because a slow machine takes as long as a slow link.
   */
  turns(): number;
  /** Closes every connection; new ones are accepted. */
  cut(): void;
  /** From now on bytes are accepted and never forwarded, as when packets are dropped. */
  swallow(): void;
  close(): void;
}

interface State {
  readonly oneWayMs: number;
  turns: number;
  lastTurn: number;
  swallowing: boolean;
}

export async function startDelayProxy(
  target: number,
  oneWayMs: number,
  host = '127.0.0.1',
): Promise<DelayProxy> {
  const sockets = new Set<Socket>();
  const state: State = { oneWayMs, turns: 0, lastTurn: -Infinity, swallowing: false };
  const server = createServer((client) => {
    const upstream = connect({ port: target, host, noDelay: true });
    client.setNoDelay(true);
    client.on('data', () => {
      const now = performance.now();
      if (now - state.lastTurn < 1.9 * oneWayMs) return;
      state.turns += 1;
      state.lastTurn = now;
    });
    forward(client, upstream, state);
    forward(upstream, client, state);
    sockets.add(client).add(upstream);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    turns: () => state.turns,
    cut() {
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    swallow() {
      state.swallowing = true;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

function forward(from: Socket, to: Socket, state: State): void {
  const later = (work: () => void): void => void setTimeout(() => state.swallowing || work(), state.oneWayMs);
  from.on('data', (chunk: Buffer) => later(() => to.write(chunk)));
  from.on('end', () => later(() => to.end()));
  from.on('error', () => to.destroy());
}
