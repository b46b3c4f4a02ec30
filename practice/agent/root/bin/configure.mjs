// "config.sh" and "config.sh remove". Real: the arguments, the order of the calls, what is sent, the three files (with a
// BOM, .credentials for all to read), that the new login is tried. Stand-in: that a service principal logs in at the
// practice server instead of Microsoft's.
import { generateKeyPairSync } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemCapabilities } from './capabilities.mjs';
import { Connection, osDescription } from './connection.mjs';
import { authorizationOf, checkLogin, fail, inputs } from './inputs.mjs';
import { say } from './say.mjs';
import { loadSettings, root, version } from './settings.mjs';

const print = (line) => process.stdout.write(`${line}\n`);

/** A user's connection, used before the agent is registered. */
async function connected(input) {
  const serverUrl = input.url.replace(/\/+$/u, '');
  const server = new Connection({ serverUrl, speed: 1 }, { authorization: await authorizationOf(input) });
  try {
    await server.connect(undefined, 1);
    print('Connecting to server ...');
    for (const known of [-1, 0, 1, 1, 1]) await server.connect(undefined, known);
    await server.discover();
  } catch (error) {
    throw fail(error.message);
  }
  return server;
}

function findAgent(server, poolId, name) {
  const query = `?agentName=${encodeURIComponent(name)}&includeCapabilities=False`;
  return server
    .send('GET', `/_apis/distributedtask/pools/${poolId}/agents${query}`)
    .then(({ value }) => value[0]);
}

export async function configure(args) {
  const input = inputs(args);
  if (loadSettings() !== undefined)
    throw fail(
      'Cannot configure the agent because it is already configured. To reconfigure the agent, run ' +
        "'config.cmd remove' or './config.sh remove' first.",
    );
  checkLogin(input);
  print('\n>> Connect:\n');
  const server = await connected(input);
  const query = `?poolName=${encodeURIComponent(input.pool)}&poolType=Automation`;
  const [pool] = (await server.send('GET', `/_apis/distributedtask/pools${query}`)).value;
  if (pool === undefined) throw fail(`Agent pool not found: '${input.pool}'`);
  print('\n>> Register Agent:\n');
  const key = newKey();
  let agent;
  while (agent === undefined) agent = await registered(server, pool, input, key);
  print('Testing agent connection.');
  writeFiles(input, pool, agent, key);
  await tryLogin();
  print(`${new Date().toISOString()}: Settings Saved.`);
  return 0;
}

/** Returns the agent; undefined: the server refused to replace it. The real program then begins again, without an end. */
async function registered(server, pool, input, key) {
  say('scanning');
  say('connecting');
  const existing = await findAgent(server, pool.id, input.agent);
  const body = registration(input.agent, key, existing);
  const agents = `/_apis/distributedtask/pools/${pool.id}/agents`;
  if (existing === undefined) {
    const agent = await server.send('POST', agents, { body });
    print('Successfully added the agent');
    return agent;
  }
  print(`Pool ${pool.name} already contains an agent with name ${input.agent}.`);
  if (input.replace === undefined)
    throw fail(`Pool ${pool.id} already contains an agent with name ${input.agent}.`);
  try {
    const agent = await server.send('PUT', `${agents}/${existing.id}`, { body });
    print('Successfully replaced the agent');
    return agent;
  } catch (error) {
    process.stderr.write(`${error.message}\nFailed to replace the agent.  Try again or ctrl-c to quit\n`);
    return undefined;
  }
}

/** Creates a key in the form of its file: standard base64, each part with its exact length. */
function newKey() {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = privateKey.export({ format: 'jwk' });
  const part = (name, length = 0) => {
    const bytes = Buffer.from(jwk[name], 'base64url');
    return Buffer.concat([Buffer.alloc(Math.max(0, length - bytes.length)), bytes]).toString('base64');
  };
  return {
    d: part('d', 256),
    dp: part('dp', 128),
    dq: part('dq', 128),
    exponent: part('e'),
    inverseQ: part('qi', 128),
    modulus: part('n', 256),
    p: part('p', 128),
    q: part('q', 128),
  };
}

function registration(name, key, existing) {
  return {
    ...(existing === undefined ? { status: 0 } : { status: existing.status, enabled: existing.enabled }),
    systemCapabilities: systemCapabilities(name),
    maxParallelism: 1,
    createdOn: '0001-01-01T00:00:00',
    authorization: { publicKey: { exponent: key.exponent, modulus: key.modulus } },
    id: existing?.id ?? 0,
    name,
    version: version(),
    osDescription,
    provisioningState: 'Provisioned',
  };
}

function writeFiles(input, pool, agent, key) {
  const write = (name, value, mode) =>
    writeFileSync(join(root, name), `\uFEFF${JSON.stringify(value, undefined, 2)}`, { mode });
  const { clientId, authorizationUrl } = agent.authorization;
  write('.credentials_rsaparams', { ContainerName: '', UseCng: false, ...key }, 0o600);
  // As the real one: the login is tried where the organisation is, whatever name the server goes by.
  const at = new URL(authorizationUrl);
  const { protocol, host } = new URL(input.url);
  const data = { clientId, authorizationUrl, oauthEndpointUrl: Object.assign(at, { protocol, host }).href };
  write('.credentials', { scheme: 'OAuth', data }, 0o644);
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
}

async function tryLogin() {
  const settings = { ...loadSettings(), speed: 1 };
  const server = new Connection(settings);
  for (const known of [1, -1, -1]) await server.connect(undefined, known);
  await new Connection(settings).discover();
}

export async function remove(args) {
  const input = inputs(args);
  const settings = loadSettings();
  if (settings === undefined) throw fail('Cannot remove: the agent is not configured.');
  process.stdout.write('Removing agent from the server\n');
  const server = await connected({ url: settings.serverUrl, ...input });
  const agent = await findAgent(server, settings.poolId, settings.agentName);
  if (agent !== undefined)
    await server.send('DELETE', `/_apis/distributedtask/pools/${settings.poolId}/agents/${agent.id}`);
  for (const name of ['.agent', '.credentials', '.credentials_rsaparams'])
    rmSync(join(root, name), { force: true });
  process.stdout.write('Succeeded: Removing agent from the server\n');
  return 0;
}
