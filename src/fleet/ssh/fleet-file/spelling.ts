import { usageError } from '../../../shared/base/errors.ts';
import { noControl } from '../../../shared/base/unseen.ts';
import { escaped } from '../config/own-include.ts';

/** A value as `describeConnection` has it. */
export type Value = string | number | readonly string[];

interface Spelling {
  readonly as: string;
  /** It knows `%h` and the like: a percent sign is written twice. */
  readonly tokens?: true;
  /** It goes on to the end of its line: nothing in it is escaped. */
  readonly line?: true;
  /** Files: the package puts them side by side, or each on a line of its own. */
  readonly files?: true;
  /** What stands for no value, against one further down in the configuration. */
  readonly nothing?: string;
}

/** The options that decide how a host is reached, as ssh_config(5) spells them, in the order in which they are written. */
const spellings: Readonly<Record<string, Spelling>> = {
  hostname: { as: 'HostName', tokens: true },
  port: { as: 'Port' },
  user: { as: 'User' },
  identityfile: { as: 'IdentityFile', tokens: true, files: true },
  identitiesonly: { as: 'IdentitiesOnly' },
  identityagent: { as: 'IdentityAgent', tokens: true, nothing: 'none' },
  proxyjump: { as: 'ProxyJump', tokens: true, line: true, nothing: 'none' },
  proxycommand: { as: 'ProxyCommand', tokens: true, line: true, nothing: 'none' },
  addressfamily: { as: 'AddressFamily', nothing: 'any' },
  bindaddress: { as: 'BindAddress' },
  userknownhostsfile: { as: 'UserKnownHostsFile', tokens: true, files: true },
  globalknownhostsfile: { as: 'GlobalKnownHostsFile', files: true },
  hostkeyalias: { as: 'HostKeyAlias' },
  stricthostkeychecking: { as: 'StrictHostKeyChecking' },
  hashknownhosts: { as: 'HashKnownHosts' },
  connecttimeout: { as: 'ConnectTimeout' },
  serveraliveinterval: { as: 'ServerAliveInterval' },
  serveralivecountmax: { as: 'ServerAliveCountMax' },
  ciphers: { as: 'Ciphers' },
  kexalgorithms: { as: 'KexAlgorithms' },
  macs: { as: 'MACs' },
  hostkeyalgorithms: { as: 'HostKeyAlgorithms' },
};

/** Options by their names in `ssh -G`, in the order of a block. */
export const inOrder = Object.keys(spellings);

/**
 * An option as the package `ssh-config` takes it; undefined where ssh has no words for it. `value` undefined: whatever else
 * is configured shall not count. `ownText`: a person wrote it, tokens and all. Throws `ssh.config` for a value that is
 * more than a line.
 */
export function directive(
  host: string,
  option: string,
  value: Value | undefined,
  ownText = false,
): readonly [name: string, value: string | string[]] | undefined {
  const spelling = spellings[option];
  const given = asWritten(option, value) ?? spelling?.nothing;
  if (spelling === undefined || given === undefined) return undefined;
  const word = (text: string): string => {
    if (!noControl.test(text)) throw hasControl(host, spelling.as, text);
    const literal = spelling.tokens && !ownText ? text.replaceAll('%', '%%') : text;
    return spelling.line ? literal : escaped(literal);
  };
  if (typeof given === 'string') return [spelling.as, word(given)];
  return [spelling.as, spelling.files ? given.map(word) : word(given.join(','))];
}

/** `ssh -G` says some values otherwise than they are written. */
function asWritten(option: string, value: Value | undefined): string | readonly string[] | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  if (option === 'stricthostkeychecking' && value === 'true') return 'yes';
  return option === 'connecttimeout' && value === 0 ? 'none' : String(value);
}

function hasControl(host: string, name: string, text: string): Error {
  return usageError({
    code: 'ssh.config',
    host,
    what: `${name} has a control character`,
    expected: 'one line',
    seen: JSON.stringify(text),
    next: 'correct it in the inventory or in the SSH configuration',
  });
}
