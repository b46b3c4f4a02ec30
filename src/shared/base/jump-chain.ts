/** What ssh 9.2 refuses in a host name: a shell would read it as code, where a ProxyCommand or Match exec names the host. */
const notInHosts = /[\u0001-\u0020"$&'(),;<>\\`{|}\u007f]/;
/** The same of a user's name; a domain may stand before it (`LAB\ann`), and a blank within. */
const notInUsers = /[\u0001-\u001f"&'();<>`{|}\u007f]|\s-|\\$/;

/** Whether ssh takes it for a host's name or address. */
export function isHostName(text: string): boolean {
  return text !== '' && !text.startsWith('-') && !notInHosts.test(text);
}

/** Whether ssh takes it for the name of a user on the host. */
export function isUserName(text: string): boolean {
  return text !== '' && !text.startsWith('-') && !notInUsers.test(text);
}

/** One host of a ProxyJump chain. */
export interface Hop {
  readonly host: string;
  readonly user?: string;
  readonly port?: number;
}

/** What `parseHop` takes, for messages. */
export const hopExpected =
  'user@host:port, where user and port may be left out, and an IPv6 address stands in brackets';

/** Undefined: not a hop as ssh takes it. A user's name may hold an `@` (`ann@LAB.EXAMPLE@gate`): the last one counts. */
export function parseHop(text: string): Hop | undefined {
  const at = text.lastIndexOf('@');
  const user = at === -1 ? undefined : text.slice(0, at);
  const [, bracketed, plain = '', port] =
    /^(?:\[([^\]]+)\]|([^:[\]/]+))(?::(\d{1,5}))?$/.exec(text.slice(at + 1)) ?? [];
  const host = bracketed ?? plain;
  if (!isHostName(host) || (user !== undefined && !isUserName(user))) return undefined;
  const number = port === undefined ? undefined : Number(port);
  if (number !== undefined && (number < 1 || number > 65_535)) return undefined;
  return { host, ...(user === undefined ? {} : { user }), ...(number === undefined ? {} : { port: number }) };
}

/** The hops of a ProxyJump chain in the order they are passed, each as written; `none` and the empty text are none. */
export function hopsIn(jump: string): readonly string[] {
  if (jump === '' || jump.toLowerCase() === 'none') return [];
  return jump.split(',').map((hop) => hop.trim().replace(/^ssh:\/\/([^/]*)\/?$/, '$1'));
}
