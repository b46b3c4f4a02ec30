import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import ssh2, { type AuthContext } from 'ssh2';

import { sshKeyPair } from './ssh-key.ts';

type Method = 'publickey' | 'password' | 'keyboard-interactive';

interface Stages {
  /** What it wants in turn, as AuthenticationMethods of sshd. */
  readonly wants: readonly Method[];
  /** Accepted keys: `TYPE BASE64`. */
  readonly keys?: readonly string[];
  /** It disconnects at this number of refusals, counted over all stages. Default: 6. */
  readonly maxAuthTries?: number;
  /** It answers no request to log in. */
  readonly silent?: boolean;
  /** Called at each request to log in. */
  readonly onRequest?: (method: string) => void;
}

/** An SSH server in this process that wants several credentials. Passwords are `secret`, codes `123456`. */
export async function stagedHost({ wants, keys = [], maxAuthTries = 6, silent, onRequest }: Stages) {
  const server = new ssh2.Server({ hostKeys: [sshKeyPair().private] }, (client) => {
    const used = new Set<string>();
    let stage = 0;
    let refusals = 0;
    client.on('error', () => undefined);
    client.on('authentication', (login) => {
      onRequest?.(login.method);
      if (silent === true) return;
      const method = wants[stage];
      const refuse = (): void => {
        refusals += 1;
        if (refusals >= maxAuthTries) client.end();
        else login.reject(method === undefined ? [] : [method]);
      };
      const next = (): void => {
        stage += 1;
        const left = wants[stage];
        if (left === undefined) login.accept();
        else login.reject([left], true);
      };
      if (login.method !== method) return refuse();
      judge(login, { keys, used }, next, refuse);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}

interface Keys {
  readonly keys: readonly string[];
  /** Each key counts once, as with sshd. */
  readonly used: Set<string>;
}

function judge(login: AuthContext, { keys, used }: Keys, next: () => void, refuse: () => void): void {
  if (login.method === 'password') return login.password === 'secret' ? next() : refuse();
  if (login.method === 'keyboard-interactive') {
    const questions = [
      { prompt: 'Password: ', echo: false },
      { prompt: 'Code: ', echo: false },
    ];
    login.prompt(questions, 'two factors', '', (answers) => {
      if (answers.join() === 'secret,123456') next();
      else refuse();
    });
    return;
  }
  if (login.method !== 'publickey') return refuse();
  const key = `${login.key.algo.replace(/^rsa-.*/, 'ssh-rsa')} ${login.key.data.toString('base64')}`;
  if (!keys.includes(key) || used.has(key)) return refuse();
  // Without a signature it is the question whether the key may be used.
  if (login.signature === undefined) return login.accept();
  used.add(key);
  next();
}
