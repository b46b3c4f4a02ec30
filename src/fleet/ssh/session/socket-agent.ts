import { Agent } from 'node:http';
import { Duplex } from 'node:stream';

import { FleetError } from '../../../shared/base/errors.ts';
import { sh } from '../../../shared/base/shell.ts';
import type { Running } from './start.ts';

/** Maximum bytes that the host may send on one stream: twice the longest valid answer. */
const longestAnswer = 128 * 1024 * 1024;

/** Opens one stream to a unix socket of the host. */
export type OpenSocket = () => Promise<Duplex>;

/** An HTTP agent over SSH. Its sockets and requests fail when the connection is closed. */
export class SocketAgent extends Agent {
  readonly #open: OpenSocket;

  constructor(open: OpenSocket, closed: AbortSignal) {
    super({ keepAlive: true, maxSockets: Infinity });
    this.#open = open;
    closed.addEventListener('abort', () => this.destroy(), { once: true });
  }

  override createConnection(
    _options: unknown,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): null {
    void this.#connect(callback ?? (() => undefined));
    return null;
  }

  async #connect(callback: (error: Error | null, stream: Duplex) => void): Promise<void> {
    let stream: Duplex;
    try {
      stream = await this.#open();
    } catch (error) {
      return callback(error as Error, undefined as never);
    }
    callback(null, likeSocket(stream));
  }
}

/** Adds methods of net.Socket that http calls and other streams lack. */
function likeSocket(stream: Duplex): Duplex {
  const socket = stream as Duplex & Record<string, unknown>;
  for (const name of ['setKeepAlive', 'setNoDelay', 'setTimeout', 'ref', 'unref']) {
    socket[name] ??= () => socket;
  }
  socket['destroySoon'] ??= () => socket.destroy();
  return limited(withErrors(socket));
}

/** Makes a channel of ssh2 emit the error of `destroy`: otherwise a waiting reader would wait forever. */
function withErrors(stream: Duplex): Duplex {
  const close = stream.destroy.bind(stream);
  const destroy = Duplex.prototype.destroy.bind(stream);
  stream.destroy = (error?: Error) => {
    destroy(error);
    return close();
  };
  return stream;
}

/** Ends a stream after too many bytes: its reader may keep all of them. */
function limited(stream: Duplex): Duplex {
  let size = 0;
  const push = stream.push.bind(stream);
  stream.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    size += chunk?.length ?? 0;
    if (size <= longestAnswer) return push(chunk, encoding);
    stream.destroy(
      new FleetError({
        code: 'ssh.output-too-long',
        what: `a socket of the host sent more than ${longestAnswer / 1024 / 1024} MiB`,
        next: 'check the service: systemctl status docker azp-fleet-manager   # on the host',
      }),
    );
    return false;
  };
  return stream;
}

/**
 * Returns a script that connects standard input and output with a unix socket as root: by the docker client if
 * installed (it works with any socket), else by other programs.
 */
export function pipeScript(path: string): string {
  return sh`p=${path}
[ -S "$p" ] || { echo "no socket $p" >&2; exit 66; }
command -v docker >/dev/null && exec docker -H "unix://$p" system dial-stdio
command -v socat >/dev/null && exec socat - "UNIX-CONNECT:$p"
command -v nc >/dev/null && nc -h 2>&1 | grep -q -- -U && exec nc -U "$p"
n=/opt/azp-fleet/current/node
[ -x "$n" ] && exec "$n" -e 'const s=require("net").connect(process.argv[1]);process.stdin.pipe(s).pipe(process.stdout)' "$p"
echo "nothing here can connect to a unix socket (docker, socat, nc)" >&2; exit 69
`;
}

/** Wraps a running pipe script as a stream. `receive` gets the script's output. */
export function pipeStream(running: Running): { readonly stream: Duplex; receive(chunk: Buffer): void } {
  const stream = new Duplex({
    allowHalfOpen: false,
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      if (running.stdin.write(chunk)) done();
      else running.stdin.once('drain', () => done());
    },
    final: (done) => {
      running.stdin.end();
      done();
    },
    destroy: (error, done) => {
      running.kill();
      done(error);
    },
  });
  void running.ended.then(() => {
    stream.push(null);
    // A stream in the agent's pool has no reader: without this it would not notice its end, and the next request on it
    // would wait forever.
    stream.read(0);
  });
  return { stream, receive: (chunk) => void stream.push(chunk) };
}
