import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';

interface RunningAgent {
  readonly socket: string;
  /** `confirm`: each use of the key must be confirmed (`ssh-add -c`). */
  add(key: string, confirm?: 'confirm'): void;
  stop(): void;
}

/** Starts a real ssh-agent with a socket below this folder. `askpass`: the program that it asks to confirm a use. */
export async function startAgent(folder: string, askpass = '/bin/false'): Promise<RunningAgent> {
  const socket = join(mkdtempSync(join(folder, 'agent-')), 'sock');
  const child = spawn('ssh-agent', ['-D', '-a', socket], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, SSH_ASKPASS: askpass, SSH_ASKPASS_REQUIRE: 'force' },
  });
  // It prints its socket once it listens.
  await once(child.stdout, 'data');
  const env = { PATH: '/usr/bin:/bin', SSH_AUTH_SOCK: socket };
  return {
    socket,
    add: (key, confirm) =>
      void execFileSync('ssh-add', ['-q', ...(confirm ? ['-c'] : []), key], { env, stdio: 'ignore' }),
    stop: () => void child.kill(),
  };
}
