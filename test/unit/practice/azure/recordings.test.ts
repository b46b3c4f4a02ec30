// Each exchange that was recorded with the live service, held against the fake in the same world.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/shared/base/clock.ts';
import { fakeControl } from '../../../../practice/azure/control/control.ts';
import { startFake, type RunningFake } from '../../../../practice/azure/start.ts';
import { recordedWorld } from './recorded-world.ts';
import { recordings, type Recording } from './recordings.ts';

const folder = mkdtempSync(join(tmpdir(), 'azure-'));
let fake: RunningFake;

beforeAll(async () => {
  writeFileSync(join(folder, 'token'), 'good-token');
  writeFileSync(join(folder, 'state.json'), JSON.stringify(recordedWorld()));
  fake = await startFake({
    host: '127.0.0.1',
    port: 0,
    tokenFile: join(folder, 'token'),
    stateFile: join(folder, 'state.json'),
    organization: 'contoso-lab',
    projects: [],
    clock: systemClock(1),
  });
});
afterAll(async () => {
  await fake.close();
  rmSync(folder, { recursive: true });
});

const recordedOrigin = 'https://dev.azure.com';

async function replay({ method, url, requestHeaders, requestBody }: Recording) {
  const response = await fetch(url.replace(recordedOrigin, fake.origin), {
    method,
    headers: {
      ...requestHeaders,
      authorization: `Basic ${Buffer.from(':good-token').toString('base64')}`,
    },
    ...(requestBody === null ? {} : { body: JSON.stringify(requestBody) }),
  });
  const text = (await response.text()).replaceAll(fake.origin, recordedOrigin);
  return { status: response.status, headers: response.headers, body: parsed(text) };
}

function parsed(text: string): unknown {
  return text === '' ? undefined : (JSON.parse(text.replace(/^\uFEFF/u, '')) as unknown);
}

/** Every member of the first that the second lacks, or has with another type of JSON. */
function missing(recorded: unknown, seen: unknown, at = '$'): string[] {
  if (Array.isArray(recorded)) {
    if (!Array.isArray(seen)) return [`${at}: ${kindOf(seen)} in place of a list`];
    return recorded.flatMap((each, index) =>
      missing(each, counterpart(each, index, seen), `${at}[${index}]`),
    );
  }
  if (kindOf(recorded) !== kindOf(seen)) return [`${at}: ${kindOf(seen)} in place of ${kindOf(recorded)}`];
  if (recorded === null || typeof recorded !== 'object') return [];
  return Object.entries(recorded).flatMap(([name, value]) =>
    missing(value, (seen as Record<string, unknown>)[name], `${at}.${name}`),
  );
}

/** The element of the same name, or else the one in the same place, or the first. */
function counterpart(recorded: unknown, index: number, seen: readonly unknown[]): unknown {
  const { name } = Object(recorded) as { name?: string };
  const same = seen.find((each) => name !== undefined && (Object(each) as { name?: string }).name === name);
  return same ?? seen[index] ?? seen[0];
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'list' : typeof value;
}

test('the comparison sees what is missing, and what has another type', () => {
  const recorded = { a: null, b: [{ name: 'x', c: 1 }], d: { e: true } };
  expect(missing(recorded, structuredClone(recorded))).toEqual([]);
  expect(missing(recorded, { a: 1, b: [{ name: 'x', c: '1' }], d: {} })).toEqual([
    '$.a: number in place of null',
    '$.b[0].c: string in place of number',
    '$.d.e: undefined in place of boolean',
  ]);
});

/** Differ from call to call, or from organisation to organisation. */
const changing = new Set([
  'activityid',
  'date',
  'x-tfs-session',
  'x-tfs-serviceerror',
  'x-vss-e2eid',
  'x-vss-userdata',
]);

describe('every recorded member is in the answer with its type', () => {
  // The project that is deleted by its Guid is the one that is then made and read by its name.
  const deletedFirst = recordings.toSorted(
    (a, b) => Number(b.method === 'DELETE') - Number(a.method === 'DELETE'),
  );
  test.each(deletedFirst)('$method $url', async (recording) => {
    const { method, status, responseHeaders } = recording;
    if (status === 503) await fakeControl(fake.origin).fail({ count: 1, method, deactivated: true });
    const answer = await replay(recording);
    expect(answer.status).toBe(status);
    expect(missing(bodyOf(recording), answer.body)).toEqual([]);
    for (const [name, value] of Object.entries(responseHeaders)) {
      const seen = answer.headers.get(name);
      expect(seen, name).not.toBeNull();
      if (!changing.has(name)) expect(seen, name).toBe(value);
    }
  });
});

/** The one answer that begins with a byte order mark was kept as text. */
function bodyOf({ body }: Recording): unknown {
  return typeof body === 'string' ? parsed(body) : body;
}

describe('the very same answer, but for addresses of other services', () => {
  const exact = /distributedtask\/(?:pools|queues)|projects\/GroupTests/u;
  test.each(recordings.filter(({ url }) => exact.test(url)))('$method $url', async (recording) => {
    const { body } = await replay(recording);
    const here = JSON.stringify(recording.body).replaceAll(
      /https:\/\/spsprod\w+\.vssps\.visualstudio\.com\/A[\da-f-]+\/_apis/gu,
      'https://dev.azure.com/contoso-lab/_apis',
    );
    expect(body).toEqual(JSON.parse(here));
  });
});

test('the recordings are all here', () => {
  expect(recordings).toHaveLength(15);
  expect(readFileSync('test/fixtures/azure/README.md', 'utf8')).toContain('recordings.jsonl');
});
