import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Duplex, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

import { foreignLines } from '../../../shared/base/foreign-text.ts';
import type { ConnectionOptions } from '../config/connection-options.ts';
import { connectError } from '../failures.ts';

/** Characters of what a ProxyCommand says that are kept: its last words. */
const mostSaid = 2_000;
/** Milliseconds for it to end after its output has: something that it started may hold on. */
const endMs = 1_000;
/** OpenSSH's own words for a connection that was cut early: another attempt may do, as with a direct connection. */
const cut = /kex_exchange_identification|ssh_exchange_identification|Connection (closed|reset) by/;

/**
 * A ProxyCommand's standard input and output as one stream; the command ends with it. It runs by the user's shell, as with
 * ssh. One that ends badly before it has passed a byte fails with what it said: `ssh.proxy-command`, or
 * `ssh.connection-lost` where that may pass.
 */
export function dialCommand(
  options: ConnectionOptions & { readonly proxyCommand: string },
  env: Readonly<Record<string, string | undefined>>,
): Duplex {
  const shell = env['SHELL'] || '/bin/sh';
  const child = spawn(shell, ['-c', `exec ${options.proxyCommand}`], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env,
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-mostSaid);
  });
  const ended = once(child, 'close').catch((error: unknown) => {
    said = error instanceof Error ? error.message : String(error);
  });
  const output = async function* (): AsyncGenerator<Buffer> {
    let passed = false;
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      passed = true;
      yield chunk;
    }
    await Promise.race([ended, sleep(endMs, undefined, { ref: false })]);
    const { exitCode, signalCode } = child;
    if (!passed && (said !== '' || exitCode !== 0)) throw failed(options, said, exitCode ?? signalCode);
  };
  // Writing to a command that has ended is no failure of its own: its output ends as well, and why is told there.
  child.stdin.on('error', () => undefined);
  const input = new Writable({
    write: (chunk: Buffer, _encoding, done) => void child.stdin.write(chunk, () => done()),
    final: (done) => void child.stdin.end(() => done()),
  });
  const stream = Duplex.from({ readable: output(), writable: input });
  stream.once('close', () => child.kill());
  return stream;
}

function failed(options: ConnectionOptions, said: string, end: number | string | null): Error {
  const seen = foreignLines(said, mostSaid).trim();
  return connectError(options, {
    code: cut.test(said) ? 'ssh.connection-lost' : 'ssh.proxy-command',
    what: `the ProxyCommand for ${options.hostname}:${options.port} ended before it had connected`,
    expected: 'an SSH server at its other end',
    seen: seen === '' ? `it said nothing (${end === null ? 'no exit code' : `ended with ${end}`})` : seen,
    next: `run it by hand: ${options.proxyCommand ?? ''}`,
  });
}
