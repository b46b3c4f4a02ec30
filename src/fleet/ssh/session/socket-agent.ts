import { Agent } from 'node:http';
import { Duplex } from 'node:stream';

import { FleetError } from '../../../shared/base/errors.ts';
import { sh } from '../../../shared/base/shell.ts';
import type { Running } from './start.ts';

/** Bytes that the other side may say on one stream: twice the longest answer that is read. */
const longestTalk = 128 * 1024 * 1024;

/** Opens one stream to a unix socket of the host. */
export type OpenSocket = () => Promise<Duplex>;

/** An HTTP agent over SSH. Its sockets die with the connection; so do requests on them. */
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

/** http calls methods of net.Socket that other streams lack. */
function likeSocket(stream: Duplex): Duplex {
  const socket = stream as Duplex & Record<string, unknown>;
  for (const name of ['setKeepAlive', 'setNoDelay', 'setTimeout', 'ref', 'unref']) {
    socket[name] ??= () => socket;
  }
  socket['destroySoon'] ??= () => socket.destroy();
  return bounded(tellingWhy(socket));
}

/** A channel of ssh2 closes without a word of why: who waits for its end or an error would wait for ever. */
function tellingWhy(stream: Duplex): Duplex {
  const close = stream.destroy.bind(stream);
  const tell = Duplex.prototype.destroy.bind(stream);
  stream.destroy = (error?: Error) => {
    tell(error);
    return close();
  };
  return stream;
}

/** Ends when the other side has said too much: what reads it may keep all of it. */
function bounded(stream: Duplex): Duplex {
  let size = 0;
  const push = stream.push.bind(stream);
  stream.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    size += chunk?.length ?? 0;
    if (size <= longestTalk) return push(chunk, encoding);
    stream.destroy(
      new FleetError({
        code: 'ssh.output-too-long',
        what: `a socket of the host said more than ${longestTalk / 1024 / 1024} MiB`,
        next: 'look at what serves it: systemctl status docker azp-fleet-manager   # on the host',
      }),
    );
    return false;
  };
  return stream;
}

/**
 * Connects standard input and output with a unix socket as root: with the docker client where it is there
 * (it pipes to any socket), else with what else can be on a host.
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

/** A running pipe script as a stream. `receive` takes what the script writes. */
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
    // A stream that waits in the agent's pool is read by nobody: without this it would never learn of its end,
    // and the next request on it would wait for ever.
    stream.read(0);
  });
  return { stream, receive: (chunk) => void stream.push(chunk) };
}
