import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Returns a loopback port without a listener. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => void server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Resolves when an SSH server has sent its identification there. */
export async function sshAnswers(port: number, host: string): Promise<void> {
  // A limit for what hangs: three minutes and more.
  for (let attempt = 0; attempt < 7200; attempt += 1) {
    const banner = await new Promise<string>((resolve) => {
      const socket = connect({ port, host });
      socket.once('data', (data) => {
        resolve(data.toString());
        socket.destroy();
      });
      socket.once('error', () => resolve(''));
    });
    if (banner.startsWith('SSH-')) return;
    await sleep(25);
  }
  throw new Error('sshd did not come up');
}
