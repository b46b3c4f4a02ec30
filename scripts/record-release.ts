// Records what this release says and writes, as test/fixtures/releases/README.md says: `node scripts/record-release.ts`.
// The manager runs in this process, against the practice server and a stand-in engine.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { createManagerClient } from '../src/fleet/client/manager-client.ts';
import { configText, managerConfig } from '../src/fleet/steps/manager/config.ts';
import { version } from '../src/shared/base/version.ts';
import { generateAgentKey } from '../src/shared/azure/keys.ts';
import { newAgent } from '../test/unit/practice/azure/server.ts';
import { desiredOf } from '../test/support/host.ts';
import { ManagerRig } from '../test/support/manager-rig.ts';
import { managerBefore } from '../test/support/release-before.ts';

interface Asked {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
}

const folder = join(import.meta.dirname, '../test/fixtures/releases', version);

function write(name: string, value: unknown): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `${JSON.stringify(value, null, 2)}\n`);
}

function ask(socketPath: string, { method, path, body }: Asked) {
  return new Promise<{ status: number; type: string; body: unknown }>((resolve, reject) => {
    const payload = body === undefined ? '' : JSON.stringify(body);
    const headers = { 'content-length': Buffer.byteLength(payload) };
    const call = request({ socketPath, method, path, headers }, (response) => {
      void text(response).then((answer) => {
        const type = response.headers['content-type'] ?? '';
        const value: unknown = type.includes('json') ? JSON.parse(answer) : answer;
        resolve({ status: response.statusCode ?? 0, type, body: value });
      }, reject);
    });
    call.on('error', reject).end(payload);
  });
}

/** Records the answers of the manager, and what it keeps, labels and registers. */
async function recordManager(): Promise<void> {
  const rig = await ManagerRig.create();
  const exchanges: unknown[] = [];
  const record = async (name: string, asked: Asked): Promise<void> => {
    exchanges.push({ name, request: asked, answer: await ask(rig.socket, asked) });
  };
  const status: Asked = { method: 'GET', path: '/v1/status' };
  const post = (path: string, body: unknown): Asked => ({ method: 'POST', path, body });
  const ready = async (seen: () => Promise<boolean>): Promise<void> => {
    for (const end = Date.now() + 50_000; !(await seen());)
      if (Date.now() > end) throw new Error(JSON.stringify(await rig.status()));
      else await new Promise((resolve) => setTimeout(resolve, 20));
  };
  try {
    await rig.azure.createAgent(rig.poolId, newAgent('box-2', await generateAgentKey()));
    await rig.start({ agents: { kind: 'count', count: 3 }, capabilities: { rack: '12' } });
    await rig.until('idle', ['0', '1']);
    await ready(async () => (await rig.slot('2')).code === 'agent.name-held');
    write('labels.json', rig.docker.get('box-0')?.body.Labels);
    rig.docker.end('box-0', 1);
    await ready(async () => (await rig.slot('0')).state === 'idle' && (await rig.slot('0')).jobsRun === 0);
    rig.beginJob('box-1');
    await rig.until('busy', ['1']);
    await record('one agent waits, one runs a job, the name of one is held', status);
    const [agent] = (await rig.azure.listAgents(rig.poolId)).filter(({ name }) => name === 'box-1');
    write('capabilities.json', agent?.userCapabilities);
    rig.endJob('box-1');
    await ready(async () => (await rig.slot('1')).jobsRun === 1 && (await rig.slot('1')).state === 'idle');
    await record('drain a slot', post('/v1/drain', { reason: 'fan', owner: 'ann@laptop', slots: ['0'] }));
    await rig.until('drained', ['0']);
    await record('a slot is drained', status);
    const run = { reason: 'restart Docker', owner: 'ann@laptop', run: 'run-1' };
    await record('drain the host for a run', post('/v1/drain', run));
    await rig.until('drained', ['0', '1', '2']);
    await record('the host is drained', status);
    write('state.json', JSON.parse(readFileSync(join(rig.directory, 'state/manager.json'), 'utf8')));
    await record('undrain of a run', post('/v1/undrain', { run: 'run-1' }));
    await record('undrain all', post('/v1/undrain', {}));
    await rig.until('idle', ['0', '1']);
    await record('runs', { method: 'GET', path: '/v1/runs?limit=20' });
    await record('runs of a slot', { method: 'GET', path: '/v1/runs?limit=20&slot=1' });
    await record('logs', { method: 'GET', path: '/v1/logs?slot=0&tail=200' });
    await record('adopt', post('/v1/adopt', { slots: ['2'] }));
    await record('image', post('/v1/image', { fresh: false }));
    await ready(async () => (await rig.status()).image.asked?.state === 'done');
    await record('the image was made', status);
    await record('a slot that is not there', post('/v1/drain', { reason: '', slots: ['9'] }));
    await record('what it does not know', { method: 'GET', path: '/v1/later' });
    await rig.control.setToken('expired');
    await ready(async () => (await rig.status()).problems.length > 0);
    await record('the token is refused', status);
  } finally {
    await rig.close();
  }
  write('answers.json', exchanges);
}

/** Records each request that the client makes of a manager. */
async function recordClient(): Promise<void> {
  const server = await managerBefore();
  const manager = createManagerClient(server.agent, 'h200-1');
  await manager.status();
  await manager.drain({ reason: 'fan' });
  await manager.undrain({ slots: [] });
  await manager.drain({ reason: 'fan', owner: 'ann@laptop' }, ['0']);
  await manager.undrain({ slots: ['0'] });
  await manager.drain({ reason: 'restart Docker', owner: 'ann@laptop', run: 'run-1' });
  await manager.undrainRun('run-1');
  await manager.adopt(['0']);
  await manager.renewImage(true);
  await manager.runs({ limit: 20 });
  await manager.runs({ limit: 20, slot: '0' });
  await manager.logs('0', 200);
  server.close();
  write('requests.json', server.asked);
}

const slot = { share: false, capabilities: ['compute', 'utility'] } as const;
const desired = desiredOf({
  agents: {
    kind: 'slots',
    slots: [
      { ...slot, name: 'big', gpus: ['GPU-1'], limits: { memory: '64g', cpus: 16 }, mode: 'container' },
      { ...slot, gpus: [1], limits: {}, mode: 'host', pool: 'other', image: 'registry.example/agent:1' },
    ],
  },
  gpus: 2,
  jobs: { sudo: true, docker: true },
  capabilities: { rack: '12' },
  datasets: [
    { name: 'IMAGENET', host: '/data/imagenet', container: '/datasets/imagenet', requireMount: true },
  ],
});

await recordManager();
await recordClient();
write('manager.json', JSON.parse(configText(managerConfig(desired, 'x64'))));
