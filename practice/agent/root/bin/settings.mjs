// Reads the three files of a configured agent, as the real one does: key names ignore case.
import { createPrivateKey } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const lower = (value) =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => [name.toLowerCase(), member]));
const read = (name) => lower(JSON.parse(readFileSync(join(root, name), 'utf8').replace(/^\uFEFF/u, '')));

/** Returns undefined if the agent is not configured. */
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
    oauthEndpointUrl: data.oauthendpointurl ?? data.authorizationurl,
    privateKey: readKey(),
  };
}

/** .NET accepts a key only if every part has its exact length, and so does the stand-in. */
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

/** Returns the first number of bin/version: 4 runs on .NET 8, 5 on .NET 10. */
export const line = () => Number.parseInt(version(), 10);

export function version() {
  return readFileSync(join(root, 'bin', 'version'), 'utf8').trim();
}
