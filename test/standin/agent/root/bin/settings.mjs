// Reads the three files of a configured agent, as the real one does: key names ignore case.
import { createPrivateKey } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const lower = (value) =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => [name.toLowerCase(), member]));
const read = (name) => lower(JSON.parse(readFileSync(join(root, name), 'utf8').replace(/^\uFEFF/u, '')));

/** Undefined when the agent is not configured. */
export function loadSettings() {
  if (!existsSync(join(root, '.agent')) || !existsSync(join(root, '.credentials'))) return undefined;
  const agent = read('.agent');
  const credentials = read('.credentials');
  if (credentials.scheme !== 'OAuth') throw new Error(`unknown credential scheme ${credentials.scheme}`);
  const data = lower(credentials.data);
  return {
    agentId: agent.agentid,
    agentName: agent.agentname,
    poolId: agent.poolid,
    poolName: agent.poolname,
    serverUrl: agent.serverurl.replace(/\/+$/u, ''),
    workFolder: resolve(root, agent.workfolder ?? '_work'),
    skipSessionRecover: agent.skipsessionrecover === true,
    clientId: data.clientid,
    authorizationUrl: data.authorizationurl,
    privateKey: readKey(),
  };
}

/** .NET takes a key only when every part has its exact length; so do we. */
function readKey() {
  const key = read('.credentials_rsaparams');
  const part = (name, length) => {
    const bytes = Buffer.from(key[name], 'base64');
    if (length !== undefined && bytes.length !== length) {
      throw new Error(`.credentials_rsaparams: ${name} has ${bytes.length} bytes, ${length} expected`);
    }
    return bytes.toString('base64url');
  };
  const bytes = Buffer.from(key.modulus, 'base64').length;
  const half = bytes / 2;
  return createPrivateKey({
    format: 'jwk',
    key: {
      kty: 'RSA',
      n: part('modulus'),
      e: part('exponent'),
      d: part('d', bytes),
      p: part('p', half),
      q: part('q', half),
      dp: part('dp', half),
      dq: part('dq', half),
      qi: part('inverseq', half),
    },
  });
}

/** What the agent tells about itself: its environment, and what it finds installed. */
export function systemCapabilities(name) {
  const ignored = new Set((process.env.VSO_AGENT_IGNORE ?? '').split(',').map((each) => each.trim()));
  const environment = Object.entries(process.env).filter(
    ([key, value]) => !ignored.has(key) && !key.startsWith('VSTS_AGENT_INPUT_') && value.length < 1024,
  );
  const extra = existsSync(join(root, '.capabilities'))
    ? readFileSync(join(root, '.capabilities'), 'utf8')
        .split('\n')
        .filter((line) => line.includes('='))
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)])
    : [];
  return {
    ...Object.fromEntries([...environment, ...extra]),
    'Agent.Name': name,
    'Agent.OS': 'Linux',
    'Agent.OSArchitecture': process.arch === 'arm64' ? 'ARM64' : 'X64',
    'Agent.Version': version(),
    'Agent.ComputerName': process.env.HOSTNAME ?? '',
    ...(existsSync('/usr/bin/git') ? { git: '/usr/bin/git' } : {}),
    sh: '/bin/sh',
  };
}

export function version() {
  return readFileSync(join(root, 'bin', 'version'), 'utf8').trim();
}
