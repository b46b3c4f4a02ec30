import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import ssh2 from 'ssh2';

import { writePrograms } from './own-sshd.ts';
import { sshKeyPair } from './ssh-key.ts';

export interface AnyUserHost {
  readonly port: number;
  /** Path on this machine of a file of the host. */
  path(onHost: string): string;
  close(): void;
}

/**
 * A host that accepts any user and password; the real sshd of `own-sshd.ts` accepts only the user who runs the tests, often
 * root. Commands run in real shells, with the host's programs before the machine's.
 */
export async function anyUserHost(programs: Readonly<Record<string, string>>): Promise<AnyUserHost> {
  const folder = mkdtempSync(join(tmpdir(), 'azp-any-user-'));
  writePrograms(folder, programs);
  const server = new ssh2.Server({ hostKeys: [sshKeyPair().private] }, (client) => {
    client.on('error', () => undefined);
    client.on('authentication', (login) =>
      login.method === 'password' ? login.accept() : login.reject(['password']),
    );
    client.on('session', (accept) => {
      accept().on('exec', (acceptExec, _reject, { command }) => run(acceptExec(), folder, command));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    path: (onHost) => join(folder, 'root', onHost),
    close: () => {
      server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function run(channel: ssh2.ServerChannel, folder: string, command: string): void {
  const env = { ...process.env, SSH_ORIGINAL_COMMAND: command };
  const child = spawn(join(folder, 'bin', 'relocate'), { env });
  child.stdin.on('error', () => undefined);
  channel.pipe(child.stdin);
  child.stdout.pipe(channel, { end: false });
  child.stderr.pipe(channel.stderr, { end: false });
  child.once('close', (code) => {
    channel.exit(code ?? 255);
    channel.end();
  });
  channel.once('close', () => child.kill());
}
