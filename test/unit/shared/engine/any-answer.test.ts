// Any answer from dockerd or another server: each call returns a value of its type, or an error of the engine.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { FleetError } from '../../../../src/shared/base/errors.ts';
import { createEngine } from '../../../../src/shared/engine/docker.ts';
import type { Engine } from '../../../../src/shared/engine/engine.ts';
import { parseEvent } from '../../../../src/shared/engine/docker.ts';
import { progressMessage } from '../../../../src/shared/engine/progress.ts';
import { anyJson, damagedJson } from '../../../support/any-json.ts';

const folder = mkdtempSync(join(tmpdir(), 'engine-any-'));
const socketPath = join(folder, 'docker.sock');
let said = '';
let server: Server;

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    response.end(said);
  });
  await new Promise<void>((resolve) => void server.listen(socketPath, resolve));
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const container = {
  Id: 'c',
  Names: ['/a'],
  State: 'running',
  Labels: { a: 'b' },
  ImageID: 'i',
  Created: 1,
  Mounts: [{ Source: '/data' }],
};
const inspected = {
  State: { Running: true, ExitCode: 0, OOMKilled: false, StartedAt: 's', FinishedAt: 'f' },
};
const image = {
  Id: 'i',
  RepoTags: ['t'],
  RepoDigests: ['r@sha256:1'],
  Labels: { a: 'b' },
  Created: 1,
  Size: 1,
};
const network = {
  Id: 'n',
  Name: 'azp-fleet',
  Driver: 'bridge',
  Internal: false,
  IPAM: { Driver: 'default', Config: [{ Subnet: '172.18.0.0/16' }] },
  Options: { a: 'b' },
  Labels: { a: 'b' },
};
const info = {
  CgroupDriver: 'systemd',
  CDISpecDirs: ['/etc/cdi'],
  Runtimes: { runc: { status: { 'org.opencontainers.runtime-spec.features': '{"mountOptions":["rro"]}' } } },
  DefaultRuntime: 'runc',
  DriverStatus: [['a', 'b']],
  SystemTime: '2026-11-21T02:00:00Z',
};

const calls: Readonly<
  Record<string, readonly [whole: unknown, call: (engine: Engine) => Promise<unknown>, shape: unknown]>
> = {
  'its version': [
    { Version: '29', ApiVersion: '1' },
    (engine) => engine.version(),
    { version: '', apiVersion: '' },
  ],
  'its settings': [
    info,
    (engine) => engine.info(),
    { rootDir: '', cdiSpecDirs: [''], runtimes: [''], kernel: '' },
  ],
  'its containers': [
    [container],
    (engine) => engine.listOwn(),
    [{ id: '', name: '', state: '', labels: {}, image: '', created: 0 }],
  ],
  'whether a container runs': [inspected, (engine) => engine.isRunning('c'), true],
  'how a container ended': [
    inspected,
    (engine) => engine.exit('c'),
    { code: 0, oomKilled: true, startedAt: '', finishedAt: '' },
  ],
  'the end of a container': [{ StatusCode: 0 }, (engine) => engine.awaitEnd('c', 5_000), 0],
  'a created container': [{ Id: 'c' }, (engine) => engine.create('c', {}), ''],
  'its images': [
    [image],
    (engine) => engine.listOwnImages(),
    [{ id: '', tags: [''], labels: {}, created: 0, bytes: 0 }],
  ],
  'an image': [image, async (engine) => (await engine.imageId('i')) ?? '', ''],
  'a label of an image': [
    { Config: { Labels: { a: 'b' } } },
    async (engine) => (await engine.imageLabel('i', 'a')) ?? '',
    '',
  ],
  'its networks': [
    [network],
    (engine) => engine.networksNamed('azp-fleet'),
    [{ id: '', driver: '', internal: true, subnets: [''], options: {}, labels: {} }],
  ],
  'what runs': [[container], (engine) => engine.running(), [{ name: '', labels: {} }]],
  'objects with a label': [
    [container],
    (engine) => engine.withLabel('a'),
    { containers: [{ id: '', name: '', sources: [''] }], networks: [{ id: '', name: '' }] },
  ],
};

/** A value has the members of the shape, each with its type; in lists each item has. */
function expectShape(answer: unknown, shape: unknown): void {
  if (Array.isArray(shape)) {
    expect(Array.isArray(answer)).toBe(true);
    for (const item of answer as readonly unknown[]) expectShape(item, shape[0]);
  } else if (typeof shape === 'object' && shape !== null) {
    for (const [name, member] of Object.entries(shape))
      expectShape((answer as Record<string, unknown>)[name], member);
  } else expect(typeof answer).toBe(typeof shape);
}

test.each(Object.entries(calls))('%s', async (_, [whole, call, shape]) => {
  const engine = createEngine({ socketPath });
  said = JSON.stringify(whole);
  expectShape(await call(engine), shape);
  await fc.assert(
    fc.asyncProperty(fc.oneof(damagedJson(whole), anyJson), async (text) => {
      said = text;
      try {
        expectShape(await call(engine), shape);
      } catch (error) {
        if (!(error instanceof FleetError)) throw error;
      }
    }),
    { numRuns: 60 },
  );
});

test('an unknown state counts as running', async () => {
  said = JSON.stringify([{ ...container, State: 'pondering' }]);
  expect(await createEngine({ socketPath }).listOwn()).toMatchObject([{ state: 'running' }]);
});

test('events and progress', () => {
  const event = { Type: 'container', Action: 'die', Actor: { ID: '1', Attributes: { a: 'b' } } };
  const step = { stream: 's', status: 's', id: 'i', error: 'e', errorDetail: { message: 'm' } };
  fc.assert(
    fc.property(fc.oneof(damagedJson(event), damagedJson(step), anyJson), (line) => {
      const answer = parseEvent(line);
      if (answer !== undefined) expectShape(answer, { type: '', action: '', id: '', labels: {} });
      expectShape(progressMessage(line), { text: '', raw: '' });
    }),
  );
  expect(progressMessage('<html>').error).toBe('Docker answers with invalid JSON: <html>');
  expect(progressMessage('{"error":{}}').error).toBe('Docker reports an error without a message');
});
