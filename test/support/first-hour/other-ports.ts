import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createWebServer } from 'node:http';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';

import { freePort } from '../ssh-port.ts';
import type { World } from './world.ts';

async function listening(world: World, server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  world.onEnd(() => void server.close());
  return (server.address() as AddressInfo).port;
}

export { freePort as closedPort };

/** Accepts connections and never answers. */
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

const deaf = `const server = require('node:net').createServer();
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  require('node:fs').writeSync(1, String(server.address().port));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});`;

/** Answers no connection request, as behind a firewall: the listener accepts none, and its queue is full. */
export async function deafPort(world: World): Promise<number> {
  const child = spawn(process.execPath, ['-e', deaf], { stdio: ['ignore', 'pipe', 'ignore'] });
  world.onEnd(() => child.kill('SIGKILL'));
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(said.toString());
  for (let filled = 0; filled < 3; filled += 1) {
    const socket = connect(port, '127.0.0.1');
    world.onEnd(() => socket.destroy());
    socket.on('error', () => undefined);
  }
  return port;
}
