// Permissions of the control socket, and metrics over HTTP, of the running daemon.
import { readFileSync, statSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { silentLogger } from '../../../../src/shared/base/log.ts';
import { MetricsServer } from '../../../../src/manager/serve/metrics.ts';
import { readerBounds } from '../../../../src/shared/base/reader-bounds.ts';
import { StillClock } from '../../../support/clock.ts';
import { readExposition } from '../../../support/exposition.ts';
import { ManagerRig, printed } from '../../../support/manager-rig.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

test('the control socket and its folder are accessible to their owner only', async () => {
  await rig.start();
  await rig.until('idle');
  expect(modeOf(rig.socket)).toBe('600');
  expect(modeOf(dirname(rig.socket))).toBe('700');
});

test('/metrics serves the documented metrics', async () => {
  const metricsPort = await freePort();
  // GPUs with a finding.
  const healthy = readFileSync('test/fixtures/nvidia-smi/h200-pair-v13.xml', 'utf8');
  const smi = printed(healthy.replace(/(?<=<persistence_mode>)\w+/, 'Disabled'));
  rig.programs.set('sh', smi);
  rig.programs.set('dmesg', printed(''));
  rig.plugIn('0000:83:00.0');
  rig.plugIn('0000:84:00.0');
  await rig.start({ idle: { afterS: 1800, run: 'poweroff' }, metricsPort });
  await rig.until('idle');
  // Counters have a series after their first event: a job, a failed run, failed launches.
  const first = rig.docker.get('box-1')?.id;
  rig.beginJob('box-1');
  await rig.until('busy', ['1']);
  await rig.untilSampled('1');
  rig.endJob('box-1');
  await expect.poll(() => rig.docker.get('box-1')?.id).not.toBe(first);
  await rig.until('idle', ['1']);
  rig.docker.fail(/POST .*\/create/, 500, 'out of order', Number.POSITIVE_INFINITY);
  rig.docker.end('box-1', 1);
  await expect.poll(() => rig.logged.some(({ message }) => message === 'launch failed')).toBe(true);
  await expect.poll(async () => (await rig.status()).health.findings).not.toHaveLength(0);

  const url = `http://127.0.0.1:${metricsPort}`;
  const response = await fetch(`${url}/metrics`);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const families = readExposition(await response.text());
  const served = families.filter(({ samples }) => samples.length > 0).map(({ name }) => name);
  const documentation = readFileSync('docs/monitoring.md', 'utf8');
  const documented = [...documentation.matchAll(/^\| `(azp_fleet_\w+)` \|/gm)].map(([, name = '']) => name);
  expect(new Set(served)).toEqual(new Set(documented));
  expect(served).toHaveLength(documented.length);
  expect((await fetch(`${url}/`)).status).toBe(404);
});

test('metrics that cannot be rendered return HTTP 500, and end the server with the error', async () => {
  const port = await freePort();
  const broken = (): Promise<string> => {
    throw new Error('out of order');
  };
  const tools = { log: silentLogger, clock: new StillClock() };
  const running = new MetricsServer(port, broken, tools).run(new AbortController().signal);
  const ended = expect(running).rejects.toThrow('out of order');
  await expect.poll(() => scrape(port)).toBe(500);
  await ended;
  expect(await scrape(port)).toBeUndefined();
});

/** Returns the status of a scrape; undefined: no answer. */
const scrape = (port: number): Promise<number | undefined> =>
  fetch(`http://127.0.0.1:${port}/metrics`).then(
    ({ status }) => status,
    () => undefined,
  );

test('half-sent requests of another user hold few connections, each for a short time', async () => {
  const port = await freePort();
  const end = new AbortController();
  const text = (): Promise<string> => Promise.resolve('up 1\n');
  const tools = { log: silentLogger, clock: new StillClock() };
  const running = new MetricsServer(port, text, tools).run(end.signal);
  await expect.poll(() => scrape(port)).toBe(200);
  const { connections } = readerBounds.metricsPort;
  const sockets: Socket[] = [];
  let open = 0;
  for (let count = 0; count < 10 * connections; count += 1) {
    // One that reads: an unread answer keeps a socket open that the server has closed.
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket.resume());
    socket.on('close', () => (open -= 1));
    await once(socket, 'connect');
    open += 1;
    socket.write('GET /metrics HTTP/1.1\r\nhost: x\r\nx-half: ');
  }
  await expect.poll(() => open).toBeLessThanOrEqual(connections);
  // The server ends them: nobody else does.
  await expect.poll(() => open).toBe(0);
  expect(await scrape(port)).toBe(200);
  end.abort();
  await running;
});

test('headers without an end are refused', async () => {
  const port = await freePort();
  const end = new AbortController();
  const tools = { log: silentLogger, clock: new StillClock() };
  const running = new MetricsServer(port, () => Promise.resolve(''), tools).run(end.signal);
  await expect.poll(() => scrape(port)).toBe(200);
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  const parts: string[] = [];
  socket.on('data', (part) => parts.push(String(part)));
  socket.write(`GET /metrics HTTP/1.1\r\nx: ${'x'.repeat(10 * readerBounds.metricsPort.headerBytes)}`);
  await once(socket, 'close');
  expect(parts.join('')).toMatch(/^HTTP\/1\.1 431 /u);
  end.abort();
  await running;
});

test('a metrics port in use is a problem in the status until it is free', async () => {
  const other: Server = createServer();
  await once(other.listen(0, '127.0.0.1'), 'listening');
  const metricsPort = (other.address() as { port: number }).port;
  await rig.start({ metricsPort });
  await rig.until('idle');
  const problems = async () => (await rig.status()).problems;
  expect(await problems()).toMatchObject([
    {
      code: 'metrics.port',
      what: `the port of the metrics, 127.0.0.1:${metricsPort}, cannot be opened: EADDRINUSE`,
    },
  ]);
  other.close();
  await once(other, 'close');
  await expect.poll(problems).toEqual([]);
  expect(await scrape(metricsPort)).toBe(200);
});

function freePort(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = createServer();
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    server.close(() => resolve(port));
  });
  return promise;
}
