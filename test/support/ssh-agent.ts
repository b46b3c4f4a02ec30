import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

interface RunningAgent {
  readonly socket: string;
  add(key: string): void;
  stop(): void;
}

/** Starts a real ssh-agent with a socket in this folder. */
export async function startAgent(folder: string): Promise<RunningAgent> {
  const socket = join(folder, 'agent.sock');
  const child = spawn('ssh-agent', ['-D', '-a', socket], { stdio: ['ignore', 'pipe', 'ignore'] });
  // It prints its socket once it listens.
  await once(child.stdout, 'data');
  const env = { PATH: '/usr/bin:/bin', SSH_AUTH_SOCK: socket };
  return {
    socket,
    add: (key) => void execFileSync('ssh-add', ['-q', key], { env, stdio: 'ignore' }),
    stop: () => void child.kill(),
  };
}
