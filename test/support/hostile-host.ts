import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';

import ssh2 from 'ssh2';

import { sshKeyPair } from './ssh-key.ts';

/** Output of a script on such a host; a stream may be endless. */
export interface Said {
  readonly stdout?: string | Readable;
  readonly stderr?: string;
  readonly code?: number;
}

export interface HostileHost {
  readonly port: number;
  /** `ssh-ed25519 AAAA…` */
  readonly hostKey: string;
  /** Everything that commands got on standard input, including passwords. */
  readonly heard: () => string;
  /** The methods of all logins, in their order. */
  readonly methods: () => readonly string[];
  close(): void;
  /** Ends all its connections, and accepts no more. */
  leave(): void;
}

interface Behaviour {
  /** Questions before the login; without them a password is enough. */
  readonly asks?: { readonly instructions: string; readonly prompt: string; readonly name?: string };
  /** Sent before the version line, and when a login begins. */
  readonly greeting?: string;
  readonly banner?: string;
  /** Its answer instead of running the script. */
  readonly answer?: (script: string) => Said;
  /** Asks for the sudo password with each command's own marker, whatever the command is, and continues when it has one. */
  readonly wantsSudo?: boolean | (() => boolean);
  /** The user that runs the script: `sudo`, else the login user. */
  readonly ready?: string;
  /** A socket of this machine that it serves as the manager's. */
  readonly managerSocket?: string;
  /** Accepts every login without proof. */
  readonly open?: true;
  /** Takes keys only, and none of them. */
  readonly keysOnly?: true;
  /** Its text when it refuses a channel. */
  readonly refusal?: string;
  /** A logged-in client has disconnected. */
  readonly left?: () => void;
}

/** Of all hosts of a test file: a later one may get the port of an earlier one, whose key is in known_hosts. */
const { private: key, public: hostKey } = sshKeyPair();

/** An SSH server that accepts our scripts and gives the answers of the test. */
export async function hostileHost(behaviour: Behaviour = {}): Promise<HostileHost> {
  const { asks, managerSocket, greeting, banner } = behaviour;
  const says = {
    ...(greeting === undefined ? {} : { greeting }),
    ...(banner === undefined ? {} : { banner }),
  };
  let heard = '';
  const methods: string[] = [];
  const clients = new Set<ssh2.Connection>();
  const server = new ssh2.Server({ hostKeys: [key], ...says }, (client) => {
    client.on('error', () => undefined);
    clients.add(client);
    client.once('close', () => {
      clients.delete(client);
      behaviour.left?.();
    });
    // The types of ssh2 lack this for servers, and the event of a connection to a socket of the host.
    const untyped = client as unknown as NodeJS.EventEmitter & { setNoDelay(on: boolean): void };
    untyped.setNoDelay(true);
    if (behaviour.refusal !== undefined) refuseInWords(client, behaviour.refusal);
    client.on('authentication', (login) => {
      methods.push(login.method);
      if (behaviour.open === true) return login.accept();
      if (behaviour.keysOnly === true) return login.reject(['publickey']);
      if (asks === undefined)
        return login.method === 'password' ? login.accept() : login.reject(['password']);
      if (login.method !== 'keyboard-interactive') return login.reject(['keyboard-interactive']);
      login.prompt([{ prompt: asks.prompt, echo: false }], asks.name ?? 'name', asks.instructions, () =>
        login.accept(),
      );
    });
    client.on('session', (accept) => {
      accept().on('exec', (acceptExec, _reject, { command }) => {
        const channel: ssh2.ServerChannel = acceptExec();
        channel.on('data', (chunk: Buffer) => (heard += chunk.toString()));
        run(channel, command, behaviour);
      });
    });
    untyped.on('openssh.streamlocal', (accept: () => NodeJS.ReadWriteStream, reject: () => void) => {
      if (managerSocket === undefined) return reject();
      const stream = accept();
      const socket = connect(managerSocket);
      socket.on('error', () => stream.end());
      stream.pipe(socket).pipe(stream);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    hostKey: hostKey.split(' ').slice(0, 2).join(' '),
    heard: () => heard,
    methods: () => methods,
    close: () => void server.close(),
    leave: () => {
      server.close();
      for (const client of clients) client.end();
    },
  };
}

/** The library refuses a channel without a text; the protocol allows one. */
function refuseInWords(client: unknown, words: string): void {
  type Fail = (channel: number, reason: number, words: string) => void;
  const { _protocol: protocol } = client as { readonly _protocol: { channelOpenFail: Fail } };
  const fail = protocol.channelOpenFail.bind(protocol);
  protocol.channelOpenFail = (channel, reason) => fail(channel, reason, words);
}

/** The host's side of starting a script: reports that it is ready, reads the script as one line, exits. */
function run(
  channel: ssh2.ServerChannel,
  command: string,
  { answer = () => ({}), wantsSudo = false, ready: mode = '' }: Behaviour,
): void {
  const program = Buffer.from(/echo (\S+) \|/.exec(command)?.[1] ?? '', 'base64').toString();
  const nonce = /@([0-9a-f]{24}) ready/.exec(program)?.[1] ?? '';
  let text = '';
  let prompted = typeof wantsSudo === 'function' ? wantsSudo() : wantsSudo;
  const ready = (): void => {
    channel.stderr.write(`@${nonce} ready\n`);
    channel.write(`@${nonce} ready ${mode}\n`);
  };
  if (prompted) channel.stderr.write(`@${nonce} password:`);
  else ready();
  channel.on('data', (chunk: Buffer) => {
    if (prompted) {
      prompted = false;
      return ready();
    }
    const begun = text.includes('\n');
    text += chunk.toString();
    if (begun || !text.includes('\n')) return;
    const { stdout = '', stderr = '', code = 0 } = answer(text.replaceAll('\u0001', '\n').trimEnd());
    channel.stderr.write(stderr);
    const end = (): void => {
      channel.exit(code);
      channel.end();
    };
    if (typeof stdout === 'string') {
      channel.write(stdout);
      return end();
    }
    channel.once('close', () => stdout.destroy());
    stdout.once('end', end).pipe(channel, { end: false });
  });
}

/** Returns the answer to a script of several probes: the given results by name, empty for the others. */
export function framesSaid(
  script: string,
  found: Readonly<Record<string, string>>,
): Said & { readonly stdout: string } {
  const nonce = /printf 'frames %s\\n' ([0-9a-f]{24})/.exec(script)?.[1] ?? '';
  const probes = [...script.matchAll(/^ {2}\d{4} '?([a-z0-9-]+)'? \d+ /gm)].map(([, name = '']) => name);
  const frames = probes.map(
    (name) => `\n${nonce} begin ${name}\n${found[name] ?? ''}\nend\n\n${nonce} end 0 1.00 1.01 5\n`,
  );
  return { stdout: `frames ${nonce}\n${frames.join('')}` };
}
