import { once } from 'node:events';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import ssh2 from 'ssh2';

/** A script that a client runs on a host; only `end` ends it. */
export interface Running {
  readonly text: string;
  out(text: string): void;
  err(text: string): void;
  end(code?: number): void;
  /** Calls back at the end of standard input, with all of it, or when the client has gone: then undefined. */
  whenFed(fed: (input: Buffer | undefined) => void): void;
}

/** What stands behind an SSH server: it answers scripts instead of running them, and its manager's requests. */
export interface Behind {
  run(script: Running): void;
  /** Answers a request to the manager's socket; undefined: it never answers. */
  ask(request: { readonly line: string; readonly body: string }): string | undefined;
}

/** A real SSH server of this process that takes any password. */
export class ScriptedServer {
  readonly address: string;
  readonly #server: ssh2.Server;
  readonly #manager: HttpServer;
  readonly #clients = new Set<ssh2.Connection>();

  constructor(address: string, hostKey: string, behind: Behind) {
    this.address = address;
    this.#manager = managerOf(behind);
    this.#server = new ssh2.Server({ hostKeys: [hostKey] }, (client) => {
      this.#clients.add(client);
      client.once('close', () => this.#clients.delete(client));
      client.on('error', () => undefined);
      client.on('authentication', (login) =>
        login.method === 'password' ? login.accept() : login.reject(['password']),
      );
      client.on('session', (accept) => {
        accept().on('exec', (acceptExec, _reject, { command }) => exec(acceptExec(), command, behind));
      });
      // The types of ssh2 lack these for servers.
      const untyped = client as unknown as NodeJS.EventEmitter & { setNoDelay(on: boolean): void };
      untyped.setNoDelay(true);
      untyped.on('openssh.streamlocal', (accept: () => Socket) => {
        const stream = accept();
        stream.on('error', () => undefined);
        this.#manager.emit('connection', stream);
      });
    });
  }

  /** Returns the port; 0 asks for any. */
  async listen(port: number): Promise<number> {
    this.#server.listen(port, this.address);
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /** The number of clients that are connected. */
  get connections(): number {
    return this.#clients.size;
  }

  /** Ends its connections, and takes no more. */
  async leave(): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    for (const client of this.#clients) client.end();
    await closed;
  }
}

function managerOf(behind: Behind): HttpServer {
  return createServer((request, response) => {
    const body: Buffer[] = [];
    request.on('data', (chunk: Buffer) => body.push(chunk));
    request.on('end', () => {
      const line = `${request.method} ${request.url}`;
      const answer = behind.ask({ line, body: Buffer.concat(body).toString() });
      if (answer !== undefined) response.end(answer);
    });
  });
}

/** The host's side of a script: says that it is ready, reads it as one line, and the rest as its input. */
function exec(channel: ssh2.ServerChannel, command: string, behind: Behind): void {
  const program = Buffer.from(/echo (\S+) \|/.exec(command)?.[1] ?? '', 'base64').toString();
  const nonce = /@([0-9a-f]{24}) ready/.exec(program)?.[1] ?? '';
  const chunks: Buffer[] = [];
  let begun = false;
  let fed: (input: Buffer | undefined) => void = () => undefined;
  channel.on('error', () => undefined);
  channel.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    if (begun || !chunk.includes(10)) return;
    begun = true;
    const sent = Buffer.concat(chunks);
    const end = sent.indexOf(10);
    chunks.splice(0, chunks.length, sent.subarray(end + 1));
    behind.run({
      text: sent.subarray(0, end).toString().replaceAll('\u0001', '\n'),
      out: (text) => void channel.write(text),
      err: (text) => void channel.stderr.write(text),
      end: (code = 0) => {
        channel.exit(code);
        channel.end();
      },
      whenFed: (call) => (fed = call),
    });
  });
  const over = (input: Buffer | undefined): void => {
    const call = fed;
    fed = () => undefined;
    call(input);
  };
  channel.once('end', () => over(Buffer.concat(chunks)));
  channel.once('close', () => over(undefined));
  channel.stderr.write(`@${nonce} ready\n`);
  channel.write(`@${nonce} ready \n`);
}
