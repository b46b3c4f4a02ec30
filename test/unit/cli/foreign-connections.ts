// Sources of hostile text before or instead of a login: rows for foreign-sources.test.ts.
import type { hostileHost, Said } from '../../support/hostile-host.ts';
import { evil } from '../../support/hostile-words.ts';
import { sshKeyPair } from '../../support/ssh-key.ts';
import { disconnect } from './foreign-answers.ts';

/** A source of hostile text and a command that reads it. Hosts, managers and servers without an entry work normally. */
export interface Source {
  readonly source: string;
  readonly command: string;
  /** The host's answer to a script. */
  readonly host?: (script: string) => Said;
  /** Options of its SSH server, if that is the source. */
  readonly ssh?: NonNullable<Parameters<typeof hostileHost>[0]>;
  /** The only bytes that the server sends, instead of SSH. */
  readonly bytes?: Buffer;
  /** The manager's answers by path; other requests fail with a hostile message. */
  readonly manager?: Readonly<Record<string, unknown>>;
  /** The answers of Azure DevOps: a status, and any JSON. */
  readonly azure?: (path: string) => readonly [status: number, body: unknown];
  /** Additional keys of the host, in YAML flow style. */
  readonly keys?: string;
  /** Other files in the folder, by name. */
  readonly files?: Readonly<Record<string, string>>;
  readonly user?: string;
  /** The comment of the key in the user's SSH agent. */
  readonly agent?: string;
  /** The source of the token. FOLDER and PORT are replaced here, in `keys`, `env` and files. */
  readonly token?: string;
  readonly address?: string;
  readonly organization?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the text must be shown, must never be shown, or may be shown. */
  readonly shown: 'yes' | 'never' | 'perhaps';
  /** The user's own files are quoted unchanged, with invisible characters as `\\u001b`. */
  readonly escaped?: true;
}

const plan = JSON.stringify;
/** The hostile text without line breaks, for one-line values. */
const line = evil.replaceAll(/[\n\r]/g, '');
const otherKey = 'AAAAC3NzaC1lZDI1NTE5AAAAIBUjSpgOqQKhPs0PyA3cO2B6fZs0NQBrI3zW2nQGDpnM';
/** A known_hosts file with hostile lines and another key for the host. */
const known = {
  'known.conf': 'Host *\n  UserKnownHostsFile FOLDER/known\n',
  known: [
    `[127.0.0.1]:PORT ${line} ${otherKey} ${line}`,
    `${line} ssh-ed25519 ${otherKey} ${line}`,
    `[127.0.0.1]:PORT ssh-ed25519 ${otherKey} ${line}`,
    `@${line} * ssh-ed25519 ${otherKey}`,
    '',
  ].join('\n'),
};
/** A KnownHostsCommand that prints hostile text instead of keys. */
const command = {
  'command.conf': 'Host *\n  KnownHostsCommand /bin/sh FOLDER/command\n',
  command: 'cat FOLDER/words; cat FOLDER/words >&2; exit 1\n',
  words: `${evil}\n`,
};

export const connectionSources: readonly Source[] = [
  {
    source: 'text before the SSH version',
    command: 'trust',
    ssh: { greeting: `${evil}\r\n` },
    shown: 'never',
  },
  { source: 'a banner', command: 'exec --login', ssh: { banner: evil }, shown: 'never' },
  { source: 'the reason of a disconnect', command: 'trust', bytes: disconnect(evil), shown: 'yes' },
  {
    source: 'a server that is not SSH',
    command: 'trust',
    bytes: Buffer.from(`220 ${evil}\r\n`.repeat(50)),
    shown: 'perhaps',
  },
  {
    source: 'a ProxyCommand',
    command: 'exec --login',
    keys: 'sshConfig: proxy.conf',
    files: { 'proxy.conf': 'Host *\n  ProxyCommand cat FOLDER/words >&2; false\n', words: evil },
    shown: 'yes',
  },
  {
    source: 'a ProxyCommand, by trust',
    command: 'trust',
    keys: 'sshConfig: proxy.conf',
    files: { 'proxy.conf': 'Host *\n  ProxyCommand cat FOLDER/words >&2; false\n', words: evil },
    shown: 'yes',
  },
  {
    source: "the system's ssh",
    command: 'exec --login',
    keys: 'transport: openssh',
    bytes: Buffer.from(`SSH-2.0-${evil}\r\n`),
    shown: 'perhaps',
  },
  {
    source: "ssh's error about its configuration",
    command: 'exec --login',
    keys: 'sshConfig: odd.conf',
    files: { 'odd.conf': `Host *\n  Odd${evil}\n` },
    shown: 'perhaps',
  },
  {
    source: 'values that ssh -G prints',
    command: 'inventory show gpu-1',
    keys: 'sshConfig: odd.conf',
    files: { 'odd.conf': `Host *\n  ProxyCommand ${evil.replaceAll(/[\n\r\u2028\u2029\u0085]/g, '')}\n` },
    escaped: true,
    shown: 'perhaps',
  },
  {
    source: 'a comment of a pinned key',
    command: 'exec --login',
    keys: `hostKeys: [${plan(`ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBUjSpgOqQKhPs0PyA3cO2B6fZs0NQBrI3zW2nQGDpnM ${evil}`)}]`,
    shown: 'perhaps',
  },
  {
    source: 'a channel that a jump host does not open',
    command: 'exec --login',
    ssh: { open: true, refusal: evil },
    address: 'behind.example',
    keys: 'jump: "lab@127.0.0.1:PORT", identityFile: FOLDER/id',
    files: { id: sshKeyPair().private },
    shown: 'yes',
  },
  {
    source: 'the same, by trust',
    command: 'trust',
    ssh: { open: true, refusal: evil },
    address: 'behind.example',
    keys: 'jump: "lab@127.0.0.1:PORT", identityFile: FOLDER/id',
    files: { id: sshKeyPair().private },
    shown: 'yes',
  },
  {
    source: "a comment of a key in the user's agent",
    command: 'exec --login',
    ssh: { keysOnly: true },
    agent: evil,
    shown: 'yes',
  },
  ...['exec --login', 'trust', 'plan', 'inventory show gpu-1'].flatMap((verb): Source[] => [
    {
      source: 'known_hosts',
      command: verb,
      keys: 'sshConfig: known.conf',
      files: known,
      shown: 'perhaps',
    },
    {
      source: 'the output of a KnownHostsCommand',
      command: verb,
      keys: 'sshConfig: command.conf',
      files: command,
      shown: 'perhaps',
    },
  ]),
  {
    source: "known_hosts, for the system's ssh",
    command: 'exec --login',
    keys: 'transport: openssh, sshConfig: known.conf',
    files: known,
    shown: 'perhaps',
  },
  {
    source: "the output of a KnownHostsCommand, to the system's ssh",
    command: 'exec --login',
    keys: 'transport: openssh, sshConfig: command.conf',
    files: command,
    shown: 'perhaps',
  },
  {
    source: 'a Match exec',
    command: 'exec --login',
    keys: 'sshConfig: match.conf',
    files: {
      'match.conf': 'Match exec "cat FOLDER/words; cat FOLDER/words >&2; exit 1"\n  User nobody\n',
      words: `${evil}\n`,
    },
    shown: 'perhaps',
  },
];
