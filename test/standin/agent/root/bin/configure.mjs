// Stand-in for "config.sh" and "config.sh remove": registers over REST, as the holder of a token or a service principal.
import { generateKeyPairSync } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadSettings, root, systemCapabilities, version } from './settings.mjs';
import { say } from './say.mjs';

const fail = (message) => Object.assign(new Error(message), { exitCode: 1 });

/** `--name value`, or VSTS_AGENT_INPUT_NAME, which is taken out of the environment. */
function inputs(args) {
  const values = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (!name.startsWith('VSTS_AGENT_INPUT_')) continue;
    values[name.slice('VSTS_AGENT_INPUT_'.length).toLowerCase()] = value;
    delete process.env[name];
  }
  for (let index = 0; index < args.length; index += 1) {
    const name = args[index].replace(/^--/u, '').toLowerCase();
    const next = args[index + 1];
    const isFlag = next === undefined || next.startsWith('--');
    values[name] = isFlag ? 'true' : next;
    if (!isFlag) index += 1;
  }
  return values;
}

/** Throws what is missing of the chosen way to log in, in the words of the real program. */
function checkLogin(input) {
  const needed = isPrincipal(input) ? ['clientid', 'tenantid', 'clientsecret'] : ['token'];
  for (const name of ['url', ...needed, 'pool', 'agent']) {
    if (!input[name])
      throw fail(`Invalid configuration provided for ${name}. Terminating unattended configuration.`);
  }
}

const isPrincipal = ({ auth = 'pat' }) => auth.toLowerCase() === 'sp';

/** The login service is the practice server itself; the real program asks Microsoft's. */
async function authorizationOf(input) {
  if (!isPrincipal(input)) return `Basic ${Buffer.from(`:${input.token}`).toString('base64')}`;
  const response = await fetch(`${new URL(input.url).origin}/${input.tenantid}/oauth2/v2.0/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: input.clientid,
      client_secret: input.clientsecret,
    }),
  });
  const { access_token: value, error_description: description } = await response.json();
  if (value === undefined) throw fail(description);
  return `Bearer ${value}`;
}

async function api(input) {
  const { url } = input;
  const authorization = await authorizationOf(input);
  return async (method, path, body) => {
    const response = await fetch(`${url.replace(/\/+$/u, '')}/_apis/distributedtask${path}`, {
      method,
      redirect: 'manual',
      headers: {
        authorization,
        accept: 'application/json; api-version=5.1-preview.1',
        'content-type': 'application/json',
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const json = await response.json().catch(() => undefined);
    if (response.status === 204) return undefined;
    if (response.status !== 200)
      throw fail(json?.message ?? `VS30063: You are not authorized to access ${url}.`);
    return json;
  };
}

export async function configure(args) {
  const input = inputs(args);
  if (loadSettings() !== undefined)
    throw fail('Cannot configure the agent because it is already configured.');
  checkLogin(input);
  say('>> Connect:\n\nConnecting to server ...');
  const send = await api(input);
  const pool = (await send('GET', `/pools?poolName=${encodeURIComponent(input.pool)}`)).value[0];
  if (pool === undefined) throw fail(`Agent pool not found: '${input.pool}'`);
  say('\n>> Register Agent:\n\nScanning for tool capabilities.\nConnecting to the server.');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = privateKey.export({ format: 'jwk' });
  const base64 = (name, length = 0) => {
    const bytes = Buffer.from(key[name], 'base64url');
    return Buffer.concat([Buffer.alloc(Math.max(0, length - bytes.length)), bytes]).toString('base64');
  };
  const body = {
    name: input.agent,
    version: version(),
    osDescription: 'Linux',
    maxParallelism: 1,
    enabled: true,
    provisioningState: 'Provisioned',
    systemCapabilities: systemCapabilities(input.agent),
    authorization: { publicKey: { exponent: base64('e'), modulus: base64('n') } },
  };
  const found = await send('GET', `/pools/${pool.id}/agents?agentName=${encodeURIComponent(input.agent)}`);
  const existing = found.value[0];
  if (existing !== undefined && input.replace === undefined) {
    throw fail(`Pool ${pool.id} already contains an agent with name ${input.agent}.`);
  }
  const agents = `/pools/${pool.id}/agents`;
  const agent =
    existing === undefined
      ? await send('POST', agents, body)
      : await send('PUT', `${agents}/${existing.id}`, { id: existing.id, ...body });
  say('Successfully added the agent\nTesting agent connection.');
  const { clientId, authorizationUrl } = agent.authorization;
  const write = (name, value, mode) => writeFileSync(join(root, name), JSON.stringify(value), { mode });
  write(
    '.credentials_rsaparams',
    {
      ContainerName: '',
      UseCng: false,
      d: base64('d', 256),
      dp: base64('dp', 128),
      dq: base64('dq', 128),
      exponent: base64('e'),
      inverseQ: base64('qi', 128),
      modulus: base64('n', 256),
      p: base64('p', 128),
      q: base64('q', 128),
    },
    0o600,
  );
  write(
    '.credentials',
    {
      scheme: 'OAuth',
      data: { clientId, authorizationUrl, oauthEndpointUrl: authorizationUrl },
    },
    0o644,
  );
  write(
    '.agent',
    {
      acceptTeeEula: input.acceptteeeula !== undefined,
      agentId: agent.id,
      agentName: agent.name,
      poolId: pool.id,
      poolName: pool.name,
      serverUrl: `${input.url.replace(/\/+$/u, '')}/`,
      workFolder: input.work ?? '_work',
    },
    0o644,
  );
  say(`${new Date().toISOString()}: Settings Saved.`);
  return 0;
}

export async function remove(args) {
  const input = inputs(args);
  const settings = loadSettings();
  if (settings === undefined) throw fail('Cannot remove: the agent is not configured.');
  say('Removing agent from the server');
  const send = await api({ url: settings.serverUrl, ...input });
  await send('DELETE', `/pools/${settings.poolId}/agents/${settings.agentId}`);
  for (const name of ['.agent', '.credentials', '.credentials_rsaparams'])
    rmSync(join(root, name), { force: true });
  say('Succeeded: Removing agent from the server');
  return 0;
}
