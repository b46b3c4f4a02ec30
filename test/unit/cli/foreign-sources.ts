// Who says something that azp-fleet shows, and by which command: rows for foreign-sources.test.ts.
import { probes } from '../../../src/facts/parse.ts';
import { framesSaid, type hostileHost, type Said } from '../../support/hostile-host.ts';
import { evil } from '../../support/hostile-words.ts';
import { agent, disconnect, evilAzure, evilRun, evilStatus, facts } from './foreign-answers.ts';

/** One source of words, and a command that meets it. Where nothing is said, hosts, managers and servers are well. */
export interface Source {
  readonly source: string;
  readonly command: string;
  /** What the host answers to a script. */
  readonly host?: (script: string) => Said;
  /** How it speaks SSH, where that is the source. */
  readonly ssh?: NonNullable<Parameters<typeof hostileHost>[0]>;
  /** A server that says this and nothing else, in place of the host. */
  readonly bytes?: Buffer;
  /** Its manager's answers by path; any other is refused in evil words. */
  readonly manager?: Readonly<Record<string, unknown>>;
  /** The answers of Azure DevOps: a status, and anything JSON can say. */
  readonly azure?: (path: string) => readonly [status: number, body: unknown];
  /** More keys of the host, as YAML in braces has them. */
  readonly keys?: string;
  /** Other files in the folder, by name. */
  readonly files?: Readonly<Record<string, string>>;
  readonly user?: string;
  /** Whether the words must be somewhere, must be nowhere, or may be: not all that is said is of interest. */
  readonly shown: 'yes' | 'never' | 'perhaps';
  /** Files of one's own are quoted as they are, with what cannot be seen as `\\u001b`. */
  readonly escaped?: true;
}

const said = (parts: Readonly<Record<string, string>>) => (script: string) =>
  framesSaid(script, { ...facts, ...parts });

const plan = JSON.stringify;

export const sources: readonly Source[] = [
  // Before anybody is logged in.
  {
    source: 'what stands before the version of SSH',
    command: 'trust',
    ssh: { greeting: `${evil}\r\n` },
    shown: 'never',
  },
  { source: 'a banner', command: 'exec --login', ssh: { banner: evil }, shown: 'never' },
  { source: 'the words of a disconnect', command: 'trust', bytes: disconnect(evil), shown: 'yes' },
  {
    source: 'something else than SSH',
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
    source: "ssh's complaint of its configuration",
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
  // What commands on it print.
  {
    source: 'the output of exec',
    command: 'exec --login',
    host: () => ({ stdout: evil, stderr: evil, code: 1 }),
    shown: 'yes',
  },
  {
    source: 'a script that fails',
    command: 'status',
    host: () => ({ stdout: evil, stderr: evil, code: 3 }),
    shown: 'perhaps',
  },
  {
    source: 'what stands around the facts',
    command: 'status',
    host: (script) => ({ stdout: `${evil}\n${said({})(script).stdout ?? ''}${evil}`, stderr: evil }),
    shown: 'never',
  },
  ...probes.flatMap(({ name }): Source[] => [
    {
      source: `the probe ${name}`,
      command: 'plan --show-scripts',
      host: said({ [name]: `${evil}\n` }),
      shown: 'perhaps',
    },
    {
      source: `the probe ${name}, by status`,
      command: 'status',
      host: said({ [name]: `${evil}\nx ${evil}\n` }),
      shown: 'perhaps',
    },
  ]),
  {
    source: 'the name of the system',
    command: 'status',
    host: said({ os: facts.os.replace('Ubuntu', evil) }),
    shown: 'perhaps',
  },
  {
    source: 'other people and what they run',
    command: 'plan',
    host: said({ others: `login ${evil} tty1\ngpu-process 77 ${evil}\n` }),
    shown: 'perhaps',
  },
  {
    source: 'who holds the package manager',
    command: 'plan',
    host: said({ 'package-lock': `${evil} (pid 1) holds /var/lib/dpkg/lock\n` }),
    shown: 'perhaps',
  },
  {
    source: "other people's containers",
    command: 'plan',
    host: said({
      docker: `active\ninfo {"ServerVersion":${plan(evil)},"Driver":${plan(evil)}}\ncontainers [{"Names":[${plan(evil)}],"Image":${plan(evil)},"Labels":{}}]\n`,
    }),
    shown: 'yes',
  },
  {
    source: 'daemon.json',
    command: 'plan --diff',
    host: said({
      'daemon-json': plan({ [evil]: evil, 'data-root': evil, runtimes: { [evil]: { path: evil } } }),
    }),
    escaped: true,
    shown: 'perhaps',
  },
  // The manager.
  {
    source: 'the status that a manager has left',
    command: 'status',
    host: said({ 'manager-status': plan(evilStatus) }),
    shown: 'yes',
  },
  {
    source: 'the same, by diagnose',
    command: 'diagnose',
    host: said({ 'manager-status': plan(evilStatus) }),
    shown: 'perhaps',
  },
  {
    source: 'the same, by plan',
    command: 'plan',
    host: said({ 'manager-status': plan(evilStatus) }),
    shown: 'perhaps',
  },
  {
    source: 'the same, by image which',
    command: 'image which',
    host: said({ 'manager-status': plan(evilStatus) }),
    shown: 'perhaps',
  },
  {
    source: 'the status that a manager gives',
    command: 'drain --yes',
    manager: { '/v1/drain': {}, '/v1/status': evilStatus },
    shown: 'yes',
  },
  {
    source: 'the runs that it knows',
    command: 'logs gpu-1',
    manager: { '/v1/runs': [evilRun] },
    shown: 'yes',
  },
  {
    source: 'the output of a container',
    command: 'logs gpu-1/0',
    manager: { '/v1/logs': `${evil}\n` },
    shown: 'yes',
  },
  {
    source: "the agent's own logs",
    command: 'logs --diag gpu-1/0',
    manager: { '/v1/diagnostics': `${evil}\n` },
    shown: 'yes',
  },
  { source: 'a refusal of a manager', command: 'undrain gpu-1', manager: {}, shown: 'yes' },
  {
    source: 'no JSON of a manager',
    command: 'drain --yes',
    manager: { '/v1/drain': {}, '/v1/status': `{${evil}` },
    shown: 'yes',
  },
  // Azure DevOps, and who stands before it.
  { source: 'pools and agents', command: 'pool list', azure: evilAzure, shown: 'perhaps' },
  {
    source: 'pools and agents, by status',
    command: 'status',
    azure: evilAzure,
    host: said({}),
    shown: 'perhaps',
  },
  {
    source: 'the job of one of our agents',
    command: 'status',
    azure: (path) =>
      path.includes('/agents') ? [200, { value: [{ ...agent, name: 'gpu-1-0' }] }] : evilAzure(path),
    host: said({}),
    shown: 'perhaps',
  },
  {
    source: 'pools and agents, by prune',
    command: 'pool prune --dry-run',
    azure: evilAzure,
    shown: 'perhaps',
  },
  {
    source: 'a refusal of Azure DevOps',
    command: 'pool list',
    azure: () => [403, { message: evil, typeKey: evil, [evil]: evil }],
    shown: 'yes',
  },
  { source: 'a page of a proxy', command: 'pool list', azure: () => [407, evil], shown: 'perhaps' },
  {
    source: 'an answer that is none',
    command: 'pool list',
    azure: () => [200, { value: { [evil]: evil } }],
    shown: 'perhaps',
  },
  // Files and the person's own world.
  {
    source: 'names in the inventory',
    command: 'inventory check',
    keys: `${plan(evil)}: ${plan(evil)}`,
    escaped: true,
    shown: 'perhaps',
  },
  {
    source: 'values in the inventory',
    command: 'inventory show gpu-1',
    keys: `labels: { room: ${plan(evil)} }, agentName: ${plan(evil)}, driverCapabilities: [${plan(evil)}]`,
    escaped: true,
    shown: 'perhaps',
  },
  {
    source: 'labels in the inventory',
    command: 'inventory list',
    keys: `labels: { room: ${plan(evil)} }`,
    escaped: true,
    shown: 'perhaps',
  },
  {
    source: 'a saved plan that is none',
    command: 'provision --dry-run --plan evil.plan',
    files: { 'evil.plan': `{"schema":1,"hosts":[${plan(evil)}]}` },
    shown: 'perhaps',
  },
  { source: 'who runs it', command: 'plan', user: evil, host: said({}), shown: 'perhaps' },
];
