// Sources of hostile text that azp-fleet shows, and the commands: rows for foreign-sources.test.ts.
import { probes } from '../../../src/fleet/facts/parse.ts';
import { framesSaid } from '../../support/hostile-host.ts';
import { evil } from '../../support/hostile-words.ts';
import { agent, evilAzure, evilRun, evilStatus, facts } from './foreign-answers.ts';

import { connectionSources, type Source } from './foreign-connections.ts';

const framesOf = (parts: Readonly<Record<string, string>>) => (script: string) =>
  framesSaid(script, { ...facts, ...parts });

const plan = JSON.stringify;
/** The hostile text without line breaks, for one-line values. */
const line = evil.replaceAll(/[\n\r]/g, '');

export const sources: readonly Source[] = [
  ...connectionSources,
  // Output of commands on the host.
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
    host: (script) => ({ stdout: `${evil}\n${framesOf({})(script).stdout ?? ''}${evil}`, stderr: evil }),
    shown: 'never',
  },
  ...probes.flatMap(({ name }): Source[] => [
    {
      source: `the probe ${name}`,
      command: 'plan --show-scripts',
      host: framesOf({ [name]: `${evil}\n` }),
      shown: 'perhaps',
    },
    {
      source: `the probe ${name}, by status`,
      command: 'status',
      host: framesOf({ [name]: `${evil}\nx ${evil}\n` }),
      shown: 'perhaps',
    },
  ]),
  {
    source: 'the name of the system',
    command: 'status',
    host: framesOf({ os: facts.os.replace('Ubuntu', evil) }),
    shown: 'perhaps',
  },
  {
    source: 'other users and their processes',
    command: 'plan',
    host: framesOf({ others: `login ${evil} tty1\ngpu-process 77 ${evil}\n` }),
    shown: 'perhaps',
  },
  {
    source: 'the process that locks the package manager',
    command: 'plan',
    host: framesOf({ 'package-lock': `${evil} (pid 1) holds /var/lib/dpkg/lock\n` }),
    shown: 'perhaps',
  },
  {
    source: "other users' containers",
    command: 'plan',
    host: framesOf({
      docker: 'active\n',
      'docker-info': `{"ServerVersion":${plan(evil)},"Driver":${plan(evil)}}\n`,
      'docker-containers': `[{"Id":"77","Names":[${plan(evil)}],"Image":${plan(evil)},"Labels":{}}]\n`,
    }),
    shown: 'yes',
  },
  {
    source: 'daemon.json',
    command: 'plan --diff',
    host: framesOf({
      'daemon-json': `present\n${plan({ [evil]: evil, 'data-root': evil, runtimes: { [evil]: { path: evil } } })}`,
    }),
    escaped: true,
    shown: 'perhaps',
  },
  // The manager.
  {
    source: 'the last status of a stopped manager',
    command: 'status',
    host: framesOf({ 'manager-status': `present\n${plan(evilStatus)}` }),
    shown: 'yes',
  },
  {
    source: 'the same, by diagnose',
    command: 'diagnose',
    host: framesOf({ 'manager-status': `present\n${plan(evilStatus)}` }),
    shown: 'perhaps',
  },
  {
    source: 'the same, by plan',
    command: 'plan',
    host: framesOf({ 'manager-status': `present\n${plan(evilStatus)}` }),
    shown: 'perhaps',
  },
  {
    source: 'the same, by image which',
    command: 'image which',
    host: framesOf({ 'manager-status': `present\n${plan(evilStatus)}` }),
    shown: 'perhaps',
  },
  {
    source: 'the status of a running manager',
    command: 'drain --yes',
    manager: { '/v1/drain': {}, '/v1/status': evilStatus },
    shown: 'yes',
  },
  {
    source: 'the runs of a manager',
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
    source: 'an invalid answer of a manager',
    command: 'drain --yes',
    manager: { '/v1/drain': {}, '/v1/status': `{${evil}` },
    shown: 'yes',
  },
  // Azure DevOps, and a proxy in front of it.
  { source: 'pools and agents', command: 'pool list', azure: evilAzure, shown: 'perhaps' },
  {
    source: 'pools and agents, by status',
    command: 'status',
    azure: evilAzure,
    host: framesOf({}),
    shown: 'perhaps',
  },
  {
    source: 'the job of one of our agents',
    command: 'status',
    azure: (path) =>
      path.includes('/agents') ? [200, { value: [{ ...agent, name: 'gpu-1-0' }] }] : evilAzure(path),
    host: framesOf({}),
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
    source: 'an invalid answer',
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
  // Files and the environment of the user.
  {
    source: 'a command for the token that fails',
    command: 'pool list',
    token: '{ cmd: "cat FOLDER/words >&2; exit 1" }',
    files: { words: evil },
    shown: 'perhaps',
  },
  {
    source: 'an invalid token',
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
    source: 'a YAML error in the inventory',
    command: 'inventory check',
    keys: `]: ${line}\n  `,
    escaped: true,
    shown: 'perhaps',
  },
  {
    source: 'text instead of a number in the inventory',
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
    source: 'an invalid saved plan',
    command: 'provision --dry-run --plan evil.plan',
    files: { 'evil.plan': `{"schema":1,"hosts":[${plan(evil)}]}` },
    shown: 'perhaps',
  },
  { source: 'the name of the user', command: 'plan', user: evil, host: framesOf({}), shown: 'perhaps' },
];
