// Who says something that azp-fleet shows, and by which command: rows for foreign-sources.test.ts.
import { probes } from '../../../src/fleet/facts/parse.ts';
import { framesSaid } from '../../support/hostile-host.ts';
import { evil } from '../../support/hostile-words.ts';
import { agent, evilAzure, evilRun, evilStatus, facts } from './foreign-answers.ts';

import { connectionSources, type Source } from './foreign-connections.ts';

const said = (parts: Readonly<Record<string, string>>) => (script: string) =>
  framesSaid(script, { ...facts, ...parts });

const plan = JSON.stringify;
/** For places that are one line: a terminal's breaks are none of a file's. */
const line = evil.replaceAll(/[\n\r]/g, '');

export const sources: readonly Source[] = [
  ...connectionSources,
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
    source: 'text around the facts',
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
  {
    source: 'a proxy that rejects requests',
    command: 'pool list',
    organization: 'https://dev.azure.com/lab',
    bytes: Buffer.from(`HTTP/1.1 502 ${line}\r\nvia: ${line}\r\n\r\n${evil}`),
    env: { HTTPS_PROXY: 'http://127.0.0.1:PORT' },
    shown: 'perhaps',
  },
  // Files and the person's own world.
  {
    source: 'a command for the token that fails',
    command: 'pool list',
    token: '{ cmd: "cat FOLDER/words >&2; exit 1" }',
    files: { words: evil },
    shown: 'perhaps',
  },
  {
    source: 'a token that is none',
    command: 'pool list',
    token: '{ cmd: "cat FOLDER/words" }',
    files: { words: evil },
    shown: 'perhaps',
  },
  {
    source: 'a comment in the inventory, beside a mistake',
    command: 'inventory check',
    keys: `nonsense: 1 # ${line}\n  `,
    escaped: true,
    shown: 'perhaps',
  },
  {
    source: 'a line of the inventory that is no YAML',
    command: 'inventory check',
    keys: `]: ${line}\n  `,
    escaped: true,
    shown: 'perhaps',
  },
  {
    source: 'words in place of a number in the inventory',
    command: 'inventory check',
    keys: `connectTimeout: ${plan(evil)}, jump: ${plan(evil)}, uploadLimit: ${plan(evil)}`,
    escaped: true,
    shown: 'perhaps',
  },
  {
    source: 'an invalid private key file',
    command: 'exec --login',
    keys: 'identityFile: FOLDER/key',
    files: { key: `-----BEGIN OPENSSH PRIVATE KEY-----\n${evil}\n-----END OPENSSH PRIVATE KEY-----\n` },
    shown: 'perhaps',
  },
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
