import { createServer as createWebServer } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';

import { freePort } from '../ssh-port.ts';
import type { World } from './world.ts';

async function listening(world: World, server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  world.onEnd(() => void server.close());
  return (server.address() as AddressInfo).port;
}

export { freePort as closedPort };

/** Takes connections and never says a word. */
export function silentPort(world: World): Promise<number> {
  return listening(
    world,
    createServer((socket) => world.onEnd(() => socket.destroy())),
  );
}

export function webPort(world: World): Promise<number> {
  return listening(
    world,
    createWebServer((_, response) => response.end('a printer')),
  );
}
