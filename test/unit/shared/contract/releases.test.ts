// This program with the previous release, in both directions. What the previous release sends and expects is
// recorded in test/fixtures/releases.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';

import { heldNames } from '../../../../src/fleet/client/take-names.ts';
import { createManagerClient } from '../../../../src/fleet/client/manager-client.ts';
import { Capabilities, Labels } from '../../../../src/shared/contract/paths.ts';
import { readStatus } from '../../../../src/shared/contract/status.ts';
import { protocol, releaseOf } from '../../../../src/shared/contract/release.ts';
import { managerStatusProbe } from '../../../../src/fleet/facts/probes/files.ts';
import { parseConfig } from '../../../../src/manager/start/configuration.ts';
import { StateStore } from '../../../../src/manager/state.ts';
import { statusText } from '../../../../src/cli/render/status.ts';
import { statusRow } from '../../../../src/fleet/status/row.ts';
import { configText, managerConfig } from '../../../../src/fleet/steps/manager/config.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';
import {
  managerBefore,
  recorded,
  recordedAnswers,
  recordedText,
  releaseBefore,
  type Asked,
} from '../../../support/release-before.ts';

const demands = recorded('demands.json') as Record<string, Parameters<typeof z.fromJSONSchema>[0]>;
/** Returns what the previous release would not understand. */
const missed = (what: string, value: unknown) =>
  z.fromJSONSchema(demands[what] ?? false).safeParse(value).error?.issues ?? [];

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function heard() {
  const manager = await managerBefore();
  closing.push(() => manager.close());
  return manager;
}

test('the recordings are of this release, or of the previous one', () => {
  const [status] = recordedAnswers();
  const release = releaseOf(status?.answer.body);
  expect(release?.version).toBe(releaseBefore);
  expect([protocol - 1, protocol]).toContain(release?.protocol);
});

describe('a manager of the previous release', () => {
  const statuses = recordedAnswers().filter(
    ({ request: { path }, answer }) => answer.status === 200 && !/runs|logs/.test(path),
  );

  test.each(statuses.map(({ name, answer }) => [name, answer.body] as const))('is read: %s', (_, body) => {
    expect(managerStatusProbe.parse(`present\n${JSON.stringify(body)}`)).toEqual({
      status: body,
      release: releaseOf(body),
    });
  });

  test('is judged and shown by status, in each of its states', () => {
    const { host } = desiredOf();
    const rows = statuses.map(({ answer }) => {
      const status = readStatus(answer.body);
      const manager = {
        current: 'versions/1',
        unitActive: 'active',
        status,
        release: releaseOf(answer.body),
      };
      const facts = factsOf({ gpus: [], docker: { active: true }, manager });
      return statusRow({ host, facts }, () => undefined, Date.parse(status?.at ?? ''));
    });
    expect(rows.map(({ manager }) => manager?.version)).toEqual(rows.map(() => releaseBefore));
    expect(rows.flatMap(({ findings }) => findings.map(({ code }) => code))).not.toContain('manager.release');
    expect(rows.map(({ verdict }) => verdict.state)).not.toContain('unknown');
    const text = statusText(rows, { width: 120, paint: (_, words) => words });
    expect(text).toContain(releaseBefore);
  });

  test('carries out each command', async () => {
    const { agent, asked } = await heard();
    const manager = createManagerClient(agent, 'h1');
    expect(heldNames(await manager.status(), []).map(({ slot }) => slot)).toEqual(['2']);
    await manager.drain({ reason: 'fan', owner: 'ann@laptop', run: 'run-1' });
    await manager.undrain({ slots: [], owner: 'ann@laptop' });
    await manager.undrainRun('run-1');
    expect((await manager.renewImage(true)).image.state).toBe('ready');
    expect(await manager.runs({ limit: 20 })).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ slot: '1', job: 'train', result: 'succeeded' }),
        expect.objectContaining({ slot: '0', exitCode: 1 }),
      ]),
    );
    expect(await manager.logs('0', 200)).toContain('Listening for Jobs');
    const orders = asked.filter(({ method }) => method === 'POST');
    expect(orders.map(({ path }) => path)).toEqual([
      '/v1/drain',
      // It does not know this call, and has no drains of others.
      '/v1/undrain-own',
      '/v1/undrain',
      '/v1/undrain',
      '/v1/image',
    ]);
    expect(orders[3]?.body).toEqual({ run: 'run-1' });
  });

  test('would end the drains of others, too: it is not asked to undrain while there are some', async () => {
    const manager = await managerBefore({ drains: [{ reason: 'fan', at: '', owner: 'bob@desk' }] });
    closing.push(() => manager.close());
    const { agent, asked } = manager;
    await expect(
      createManagerClient(agent, 'h1').undrain({ slots: [], owner: 'ann@laptop' }),
    ).rejects.toMatchObject({
      problem: { code: 'manager.release', what: expect.stringContaining('0.2.0') as string },
    });
    expect(asked.map(({ path }) => path)).not.toContain('/v1/undrain');
  });

  test('that lacks a call is reported with the command that upgrades it', async () => {
    const { agent } = await heard();
    const ours = { version: '0.3.0', protocol: protocol + 1 };
    await expect(createManagerClient(agent, 'h1', { ours }).testWebhook()).rejects.toMatchObject({
      problem: {
        code: 'manager.release',
        what: 'the manager on h1 is 0.2.0, which does not support this',
        next: 'run "azp-fleet provision h1"',
      },
    });
  });
});

describe('a CLI of the previous release', () => {
  let rig: ManagerRig;
  beforeEach(async () => {
    rig = await ManagerRig.create();
    closing.push(() => rig.close());
  });

  const ask = ({ method, path, body }: Asked) =>
    new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
      const payload = body === undefined ? '' : JSON.stringify(body);
      const headers = { 'content-length': Buffer.byteLength(payload) };
      const call = request({ socketPath: rig.socket, method, path, headers }, (response) => {
        void text(response).then((answer) => resolve({ status: response.statusCode ?? 0, text: answer }));
      });
      call.on('error', reject).end(payload);
    });

  test('gets an answer to each of its requests from this manager', async () => {
    await rig.start();
    await rig.until('idle');
    for (const asked of recorded('requests.json') as readonly Asked[]) {
      const { status, text: answer } = await ask(asked);
      expect(status, `${asked.method} ${asked.path}: ${answer}`).toBe(200);
      if (asked.path.startsWith('/v1/logs')) continue;
      const what = asked.path.startsWith('/v1/runs') ? 'runs' : 'status';
      expect(missed(what, JSON.parse(answer)), asked.path).toEqual([]);
    }
  });

  test('reads the problems of this manager: run records, held names, refusals', async () => {
    rig.docker.onStart = ({ id }) => rig.docker.end(id, 1);
    await rig.start({ agents: { kind: 'count', count: 1 } });
    await rig.until('backing-off', ['0']);
    const status = { method: 'GET', path: '/v1/status' } as const;
    expect(missed('status', JSON.parse((await ask(status)).text))).toEqual([]);
    const runs = await ask({ method: 'GET', path: '/v1/runs?limit=20' });
    expect(missed('runs', JSON.parse(runs.text))).toEqual([]);
    const refused = await ask({ method: 'POST', path: '/v1/drain', body: { reason: '', slots: ['9'] } });
    expect(missed('problem', JSON.parse(refused.text))).toEqual([]);
    await rig.control.setToken('expired');
    await expect.poll(async () => (await rig.status()).problems.length).toBe(1);
    expect(missed('status', JSON.parse((await ask(status)).text))).toEqual([]);
  });
});

describe('files on a host', () => {
  test('a configuration of the previous release is read', () => {
    const config = parseConfig(recordedText('manager.json'), 'manager.json');
    expect(config).toMatchObject(recorded('manager.json') as object);
  });

  test('a manager of the release before reads ours, should this one have to give way to it', () => {
    const slot = {
      gpus: ['GPU-1'],
      share: false,
      limits: { memory: '64g' },
      capabilities: ['compute'],
      mode: 'host',
    } as const;
    const desired = desiredOf({
      agents: {
        kind: 'slots',
        slots: [{ ...slot, name: 'a', pool: 'other', image: 'registry.example/a:1' }],
      },
      gpus: 1,
    });
    expect(missed('configuration', JSON.parse(configText(managerConfig(desired, 'x64'))))).toEqual([]);
  });

  test.each(['certificate', 'federation'] as const)(
    'a manager of the release before refuses the login by %s: it would send what is stored as a client secret',
    (proof) => {
      const ids = { kind: 'service-principal', clientId: 'c', tenantId: 't' } as const;
      const source =
        proof === 'federation'
          ? { ...ids, proof, tokenFile: '/run/id/token' }
          : { ...ids, proof, secret: { file: 'azp-fleet.pem' }, expires: '2027-05-01' };
      const text = configText(managerConfig({ ...desiredOf(), credential: source }, 'x64'));
      expect(missed('configuration', JSON.parse(text)).map(({ path }) => path)).toEqual([['schema']]);
      expect(parseConfig(text, 'manager.json').credential).toMatchObject({ proof });
    },
  );

  test('the state of the previous release keeps installation and drains', async () => {
    const rig = await ManagerRig.create();
    closing.push(() => rig.close());
    mkdirSync(join(rig.directory, 'state'));
    writeFileSync(join(rig.directory, 'state/manager.json'), recordedText('state.json'));
    const store = await StateStore.open(join(rig.directory, 'state'), 'machine-1');
    const { installation, drain } = recorded('state.json') as Record<string, object>;
    expect(store.value.installation).toBe(installation);
    expect(store.value.drain).toMatchObject(drain ?? {});
    await store.update(() => ({ jobsRun: { '0': 1 } }));
    expect(
      missed('state', JSON.parse(readFileSync(join(rig.directory, 'state/manager.json'), 'utf8'))),
    ).toEqual([]);
    const theirs = recorded('capabilities.json') as Record<string, string>;
    expect(store.owner).toBe(theirs[Capabilities.owner]);
  });

  test('drains of several persons: the previous release reads that the host and the slot are drained', async () => {
    const rig = await ManagerRig.create();
    closing.push(() => rig.close());
    await rig.start();
    await rig.until('idle');
    for (const owner of ['ann@laptop', 'bob@desk']) {
      await rig.post('/v1/drain', { reason: 'fan', owner, until: '2099-11-21T17:00:00.000Z' });
      await rig.post('/v1/drain', { reason: 'fan', owner, slots: ['0'] });
    }
    expect((await rig.status()).drains).toHaveLength(4);
    const state = JSON.parse(readFileSync(join(rig.directory, 'state/manager.json'), 'utf8')) as object;
    expect(missed('state', state)).toEqual([]);
    expect(state).toMatchObject({ drain: { host: { reason: 'fan' }, slots: { 0: { reason: 'fan' } } } });
  });

  test('a container of the previous release is ours: its job continues under this manager', async () => {
    const rig = await ManagerRig.create();
    closing.push(() => rig.close());
    await rig.start();
    await rig.until('idle');
    rig.beginJob('box-0');
    await rig.until('busy', ['0']);
    await rig.kill();
    const container = rig.docker.get('box-0');
    const ours = container?.body.Labels ?? {};
    const theirs = recorded('labels.json') as Record<string, string>;
    expect(Object.keys(ours)).toEqual(expect.arrayContaining(Object.keys(theirs)));
    // Owner, pool and agent are those of this test; everything else is as recorded.
    const own = [Labels.owner, Labels.agentId, Labels.poolId].map((label) => [label, ours[label] ?? '']);
    const labels = { ...theirs, ...Object.fromEntries(own) } as Record<string, string>;
    Object.assign(container?.body ?? {}, { Labels: labels });
    await rig.start();
    await rig.until('busy', ['0']);
    expect(rig.docker.get('box-0')?.id).toBe(container?.id);
    rig.endJob('box-0');
    await rig.until('idle');
  });
});
