/** Characters that ssh 9.2 refuses in a host name: in a ProxyCommand or Match exec a shell would execute them. */
const notInHosts = /[\u0001-\u0020"$&'(),;<>\\`{|}\u007f]/;
/** The same for a user name; it may start with a domain (`LAB\ann`) and contain a blank. */
const notInUsers = /[\u0001-\u001f"&'();<>`{|}\u007f]|\s-|\\$/;

/** Returns whether ssh accepts the text as a host name or address. */
export function isHostName(text: string): boolean {
  return text !== '' && !text.startsWith('-') && !notInHosts.test(text);
}

/** Returns whether ssh accepts the text as a user name. */
export function isUserName(text: string): boolean {
  return text !== '' && !text.startsWith('-') && !notInUsers.test(text);
}

/** One host of a ProxyJump chain. */
export interface Hop {
  readonly host: string;
  readonly user?: string;
  readonly port?: number;
}

/** The form that `parseHop` accepts, for messages. */
export const hopExpected = 'user@host:port; user and port are optional, and an IPv6 address is in brackets';

/** Parses a hop; undefined: ssh would refuse it. A user name may contain an `@` (`ann@LAB.EXAMPLE@gate`): the last one counts. */
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

/** Returns the hops of a ProxyJump chain, in order and as written; `none` and the empty text have no hops. */
export function hopsIn(jump: string): readonly string[] {
  if (jump === '' || jump.toLowerCase() === 'none') return [];
  return jump.split(',').map((hop) => hop.trim().replace(/^ssh:\/\/([^/]*)\/?$/, '$1'));
}
