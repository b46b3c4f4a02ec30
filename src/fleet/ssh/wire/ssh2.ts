import { once } from 'node:events';

import type { ClientChannel } from 'ssh2';

import { defined } from '../../../shared/base/objects.ts';
import type { Connection } from '../connect/connection.ts';
import { channelsOf, type Ending, type Wire, type WireProcess } from './wire.ts';

/** Milliseconds that output may continue after the exit code: a background child can hold the pipe forever. */
const afterExitMs = 2_000;

/** Wraps a connection of the built-in client as a Wire. */
export function ssh2Wire(connection: Connection): Wire {
  const { ssh, client, closed, software, credential } = connection;
  return {
    closed,
    ...defined({ credential }),
    channels: channelsOf(software),
    exec: (command) =>
      new Promise((resolve, reject) => {
        client.exec(command, (error, channel) =>
          error ? reject(error) : resolve(processOf(channel, closed)),
        );
      }),
    openSocket: async (path) => ssh.forwardOutStreamLocal(path),
    async close() {
      if (closed.aborted) return;
      const gone = once(closed, 'abort');
      connection.close();
      await gone;
    },
    cut: () => connection.cut(),
  };
}

function processOf(channel: ClientChannel, closed: AbortSignal): WireProcess {
  const ended = new Promise<Ending>((resolve) => {
    let ending: Ending = { code: null, signal: undefined };
    let timer: NodeJS.Timeout | undefined;
    const wait = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => channel.destroy(), afterExitMs);
    };
    channel.once('exit', (code: number | null, signal?: string) => {
      ending = { code, signal: signal ?? undefined };
      wait();
      // After the caller: a listener starts the flow of output, which may be in the same packet.
      setImmediate(() => {
        channel.on('data', wait);
        channel.stderr.on('data', wait);
      });
    });
    const done = (): void => {
      clearTimeout(timer);
      closed.removeEventListener('abort', done);
      resolve(ending);
    };
    channel.once('close', done);
    closed.addEventListener('abort', done, { once: true });
  });
  channel.on('error', () => undefined);
  channel.stderr.on('error', () => undefined);
  return {
    stdin: channel,
    stdout: channel,
    stderr: channel.stderr,
    ended,
    kill() {
      // Not every sshd supports signals; closing the channel always works.
      if (channel.writable) channel.signal('TERM');
      channel.close();
      channel.destroy();
    },
  };
}
