// What a run with --only-harmless has left, for node_exporter and for webhooks.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { Options } from '../../../../src/cli/options.ts';
import type { OpenFleet } from '../../../../src/cli/run/fleet.ts';
import {
  leftMessage,
  newsOf,
  reportLeft,
  textfileOf,
  type Reported,
} from '../../../../src/cli/run/left-report.ts';
import type { Left } from '../../../../src/cli/run/only-harmless.ts';
import type { HostOutcome } from '../../../../src/fleet/apply/outcome.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import { quietContext } from '../../../support/command.ts';
import { readExposition } from '../../../support/exposition.ts';
import { fleet } from '../../fleet/inventory/fixture.ts';
import { change } from '../../fleet/plan/changes.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'left-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const restart = change('restart', { disturbs: 'containers' });
const left = (host: string, ...ids: readonly string[]): Left => ({
  host,
  changes: ids.map((id) => ({ ...restart, title: id })),
});
const reported = (host: string, what: string, since = '2026-11-20T00:00:00Z'): Reported => ({
  host,
  since,
  what,
});
const at = '2026-11-21T12:00:00Z';
const one = '1 change left: restart';

describe('news', () => {
  test.each<[string, readonly Reported[], readonly Left[], readonly string[], string, string, string]>([
    ['something is left', [], [left('a', 'restart')], ['a'], 'a', '', 'a'],
    ['the same is left', [reported('a', one)], [left('a', 'restart')], ['a'], '', '', 'a'],
    ['something else is left', [reported('a', one)], [left('a', 'reboot')], ['a'], 'a', '', 'a'],
    ['nothing is left any more', [reported('a', one)], [], ['a'], '', 'a', ''],
    ['the host was not read', [reported('a', one)], [], [], '', '', 'a'],
    ['its run failed halfway', [], [left('a', 'restart')], [], '', '', ''],
    ['another host', [reported('a', one)], [left('b', 'restart')], ['b'], 'b', '', 'a b'],
  ])('where %s', (_, before, now, known, begun, ended, after) => {
    const news = newsOf(before, now, new Set(known), at);
    expect(news.begun.map(({ host }) => host).join(' ')).toBe(begun);
    expect(news.ended.map(({ host }) => host).join(' ')).toBe(ended);
    expect(news.reported.map(({ host }) => host).join(' ')).toBe(after);
  });

  test('what stays left keeps its time', () => {
    const before = [reported('a', one)];
    expect(newsOf(before, [left('a', 'restart')], new Set(['a']), at).reported).toEqual(before);
  });
});

test('a message has the format of the managers, without markup, and equal hosts in one event', () => {
  const begun = [left('h-1', 'stop <!channel>'), left('h-2', 'stop <!channel>')];
  const ended = [reported('h-3', one)];
  const body = JSON.parse(leftMessage({ begun, ended }, { host: 'admin', at })) as Record<string, unknown>;
  expect(body).toEqual({
    text: [
      'admin: h-1, h-2: 1 change left: stop ‹!channel›. Next: azp-fleet provision h-1 h-2',
      'admin: h-3: no changes left (since 2026-11-20T00:00:00Z)',
    ].join('\n'),
    schema: 1,
    host: 'admin',
    at,
    events: [
      {
        state: 'begun',
        event: 'changes-left',
        since: at,
        hosts: ['h-1', 'h-2'],
        code: 'provision.left',
        what: '1 change left: stop <!channel>',
        next: 'azp-fleet provision h-1 h-2',
      },
      {
        state: 'ended',
        event: 'changes-left',
        since: '2026-11-20T00:00:00Z',
        hosts: ['h-3'],
        code: 'provision.left',
        what: one,
      },
    ],
  });
});

test('a message about a large fleet stays short', () => {
  const begun = Array.from({ length: 300 }, (_, index) => left(`gpu-${index}`, 'restart'));
  const body = leftMessage({ begun, ended: [] }, { host: 'admin', at });
  expect(body.length).toBeLessThan(4000);
  expect(body).toContain('gpu-[0-299]');
});

const outcome = (host: string, state: HostOutcome['state'] = 'ok'): HostOutcome => ({
  host,
  state,
  changes: 0,
});

function open(webhooks: Readonly<Record<string, string>> = {}): OpenFleet {
  const desired = fleet('defaults: { pool: p }\nhosts: { a: {}, b: {} }\n');
  const addresses = Object.entries(webhooks).map(([host, url]) => [host, new Secret(url)] as const);
  return {
    fleet: { ...desired, file: '/lab/in"ventory.yaml' },
    hosts: desired.hosts,
    webhooks: new Map(addresses),
    caPem: undefined,
  } as unknown as OpenFleet;
}

const place = () => quietContext({ cwd: folder }).context;

describe('the textfile', () => {
  const file = () => join(folder, 'azp.prom');
  const write = (outcomes: readonly HostOutcome[], ...all: readonly Left[]) =>
    reportLeft(place(), open(), { outcomes, left: all, exitCode: 3, textfile: file() });

  test('is valid, names the inventory, and is replaced as a whole with a mode that node_exporter can read', async () => {
    expect(await write([outcome('a'), outcome('b')], left('a', 'x', 'y'))).toEqual([]);
    expect(statSync(file()).mode & 0o777).toBe(0o644);
    expect(readdirSync(folder)).toEqual(['azp.prom']);
    const found = readFileSync(file(), 'utf8');
    expect(() => readExposition(found)).not.toThrow();
    const inventory = String.raw`inventory="/lab/in\"ventory.yaml"`;
    expect(found.split('\n')).toEqual(
      expect.arrayContaining([
        `azp_fleet_provision_left_changes{${inventory},host="a"} 2`,
        `azp_fleet_provision_left_changes{${inventory},host="b"} 0`,
        `azp_fleet_provision_host_failed{${inventory},host="a"} 0`,
        `azp_fleet_provision_exit_code{${inventory}} 3`,
      ]),
    );
  });

  test.each(['unreachable', 'failed', 'skipped'] as const)(
    'has no number of changes for a host that ended as %s: it is unknown, not 0',
    async (state) => {
      await write([outcome('a'), outcome('b', state)], left('b', 'x'));
      const found = readFileSync(file(), 'utf8');
      expect(found).toMatch(/left_changes\{.*host="a"\} 0/);
      expect(found).not.toMatch(/left_changes\{.*host="b"/);
      expect(found).toMatch(/host_failed\{.*host="b"\} 1/);
    },
  );

  test('that cannot be written is a problem of the run, which has made its changes', async () => {
    mkdirSync(file());
    expect(await write([outcome('a')])).toMatchObject([{ code: 'output.file' }]);
  });

  test.each<[Record<string, unknown>, string]>([
    [{ textfile: 'azp.prom' }, 'usage.only-harmless'],
    [{ onlyHarmless: true, textfile: 'azp.txt' }, 'usage.option'],
    [{ onlyHarmless: true, textfile: 'none/azp.prom' }, 'output.file'],
  ])('is refused before any host is contacted: %o', (given, code) => {
    const check = () => textfileOf({ cwd: folder }, new Options(given));
    expect(check).toThrow(
      expect.objectContaining({ exitCode: 2, problem: expect.objectContaining({ code }) }),
    );
  });

  test('is named relative to the working directory', () => {
    expect(textfileOf({ cwd: folder }, new Options({ onlyHarmless: true, textfile: 'azp.prom' }))).toBe(
      file(),
    );
    expect(textfileOf({ cwd: folder }, new Options({ onlyHarmless: true }))).toBeUndefined();
  });
});

describe('webhooks', () => {
  let server: Server;
  let status: number;
  let seen: { readonly path: string; readonly agent: string | undefined; readonly body: string }[];
  let address: string;
  beforeEach(async () => {
    [status, seen] = [200, []];
    server = createServer((request, response) => {
      void text(request).then((body) => {
        seen.push({ path: request.url ?? '', agent: request.headers['user-agent'], body });
        response.writeHead(status).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => server.close());

  const report = (webhooks: Readonly<Record<string, string>>, ...all: readonly Left[]) =>
    reportLeft(place(), open(webhooks), {
      outcomes: [outcome('a'), outcome('b')],
      left: all,
      exitCode: 3,
      textfile: undefined,
    });
  const both = () => ({ a: `${address}/one`, b: `${address}/one` });

  test('get one message for all their hosts, and no second one for the same', async () => {
    for (const _ of [1, 2]) expect(await report(both(), left('a', 'x'), left('b', 'x'))).toEqual([]);
    expect(seen.map(({ path }) => path)).toEqual(['/one']);
    expect(seen[0]?.agent).toMatch(/^azp-fleet\//);
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({
      host: hostname(),
      events: [{ state: 'begun', hosts: ['a', 'b'] }],
    });
  });

  test('get another message when nothing is left any more', async () => {
    await report(both(), left('a', 'x'));
    await report(both());
    expect(seen.map(({ body }) => (JSON.parse(body) as { events: unknown[] }).events)).toMatchObject([
      [{ state: 'begun', hosts: ['a'] }],
      [{ state: 'ended', hosts: ['a'] }],
    ]);
  });

  test('get only what concerns their own hosts', async () => {
    await report({ a: `${address}/one`, b: `${address}/two` }, left('a', 'x'), left('b', 'y'));
    expect(seen.map(({ path, body }) => [path, /"hosts":\["(\w)"\]/.exec(body)?.[1]])).toEqual([
      ['/one', 'a'],
      ['/two', 'b'],
    ]);
  });

  test('that do not accept a message get it from the next run, and the address is in no message', async () => {
    status = 500;
    const problems = await report(both(), left('a', 'x'));
    expect(problems).toMatchObject([
      { code: 'webhook.unreachable', next: expect.stringContaining('next run') },
    ]);
    expect(JSON.stringify(problems)).not.toContain('/one');
    status = 200;
    expect(await report(both(), left('a', 'x'))).toEqual([]);
    expect(seen).toHaveLength(2);
  });

  test('get the message again if what was reported cannot be read', async () => {
    await report(both(), left('a', 'x'));
    const stored = join(folder, '.local/state/azp-fleet/left');
    const [name = ''] = readdirSync(stored);
    writeFileSync(join(stored, name), '{ "no": "list" }');
    await report(both(), left('a', 'x'));
    expect(seen).toHaveLength(2);
  });

  test('are not contacted where the inventory has none', async () => {
    expect(await report({}, left('a', 'x'))).toEqual([]);
    expect(seen).toEqual([]);
  });
});
