// Messages of the whole daemon: from events on a machine to the receiver.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManagerRig, printed } from '../../../support/manager-rig.ts';

interface Message {
  readonly text: string;
  readonly events: readonly { readonly state: string; readonly event: string; readonly slot?: string }[];
}

let rig: ManagerRig;
let server: Server;
let got: Message[];
/** Undefined: the receiver never answers. */
let status: number | undefined;
beforeEach(async () => {
  rig = await ManagerRig.create();
  got = [];
  status = 200;
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      got.push(JSON.parse(body) as Message);
      if (status !== undefined) response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  writeFileSync(
    join(rig.directory, 'webhook'),
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/services/SECRET-PATH\n`,
  );
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rig.close();
});

const webhook = { offlineS: 600, queueWaitS: 1800 };
const one = { agents: { kind: 'count', count: 1 }, webhook } as const;
const events = () =>
  got.flatMap((message) => message.events.map(({ event, state, slot = '' }) => `${event} ${slot} ${state}`));

/** Waits until the manager has saved that the message arrived: one that ends before sends it again. */
const saved = (event: string): Promise<void> =>
  expect.poll(() => readFileSync(join(rig.directory, 'state/manager.json'), 'utf8')).toContain(event);

test('an offline agent is reported once, also over a restart, and once when it is online', async () => {
  rig.docker.onStart = () => undefined;
  await rig.start({ ...one, webhook: { ...webhook, offlineS: 60 } });
  await expect.poll(events).toEqual(['agent-offline 0 begun']);
  expect(got[0]?.text).toMatch(/^box: agent box-0 is offline: .*\. Next: /);
  await saved('agent-offline');
  await rig.stop();
  rig.docker.onStart = (container) => rig.listen(container);
  await rig.start({ ...one, webhook: { ...webhook, offlineS: 60 } });
  for (const { id, state } of rig.docker.containers.values())
    if (state === 'running') rig.docker.say(id, '2026-11-21 02:00:00Z: Listening for Jobs');
  await rig.until('idle', ['0']);
  await expect.poll(events).toEqual(['agent-offline 0 begun', 'agent-offline 0 ended']);
});

test('a slot that the health gate closes is reported once, also over a restart, and once when it is open', async () => {
  rig.plugIn('0000:83:00.0');
  rig.plugIn('0000:84:00.0');
  const smi = readFileSync('test/fixtures/nvidia-smi/h200-pair-v13.xml', 'utf8');
  await rig.start(one);
  await rig.until('quarantined', ['0']);
  await expect.poll(events).toEqual(['slot-closed 0 begun']);
  expect(got[0]?.text).toContain('box: slot 0 is closed: GPU: ');
  await saved('slot-closed');
  await rig.stop();
  await rig.start(one);
  await rig.until('quarantined', ['0']);
  rig.programs.set('sh', printed(smi));
  await rig.until('idle', ['0']);
  await expect.poll(events).toEqual(['slot-closed 0 begun', 'slot-closed 0 ended']);
});

test('a receiver that never answers delays neither jobs nor the stop of the manager', async () => {
  status = undefined;
  rig.docker.onStart = () => undefined;
  await rig.start({ ...one, webhook: { ...webhook, offlineS: 1 } });
  await expect.poll(() => got.length).toBeGreaterThan(0);
  rig.docker.onStart = (container) => rig.listen(container);
  for (const { id, state } of rig.docker.containers.values())
    if (state === 'running') rig.docker.say(id, '2026-11-21 02:00:00Z: Listening for Jobs');
  await rig.until('idle', ['0']);
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  rig.endJob('box-0');
  await rig.until('idle', ['0']);
  await rig.stop();
});

test('a test message is sent at once, and its result is reported', async () => {
  // No agent is reported, however slow its start.
  await rig.start({ ...one, webhook: { ...webhook, offlineS: 86_400 } });
  await rig.until('idle', ['0']);
  await rig.post('/v1/webhook', {});
  expect(got.map(({ text }) => text)).toEqual(['box: this is a test of the webhook; nothing has happened']);
  status = 404;
  await expect(rig.post('/v1/webhook', {})).rejects.toMatchObject({
    problem: { code: 'webhook.refused', seen: 'HTTP 404' },
  });
});

test('without a webhook a test message is refused with the next action', async () => {
  await rig.start({ agents: { kind: 'count', count: 1 } });
  await rig.until('idle', ['0']);
  await expect(rig.post('/v1/webhook', {})).rejects.toMatchObject({
    problem: { code: 'webhook.none', next: expect.stringContaining('azp-fleet provision') as string },
  });
});

test('the address is in no log, status and state', async () => {
  status = 500;
  await rig.start({ ...one, webhook: { ...webhook, offlineS: 1 } });
  await rig.until('idle', ['0']);
  await rig.post('/v1/webhook', {}).catch(() => undefined);
  await rig.stop();
  const files = ['status.json', 'state/manager.json'].map((name) =>
    readFileSync(join(rig.directory, name), 'utf8'),
  );
  expect([...files, JSON.stringify(rig.logged)].join('')).not.toContain('SECRET');
});
