// docs/practice.md and docs/practice-api.md agree with the server: every shown command runs, every route and member is described.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { isRouted } from '../../../../practice/azure/http/router.ts';
import { bodies, controlRoutes } from '../../../../practice/azure/routes/control.ts';
import { parseFleet } from '../../../../src/fleet/inventory/load.ts';
import { blocks, callInstead, curlCall, shownIn } from '../../../support/shown-commands.ts';
import { useFake } from './server.ts';

const file = 'docs/practice.md';
const page = readFileSync(file, 'utf8');
const api = readFileSync('docs/practice-api.md', 'utf8');
const shownOrigin = 'http://127.0.0.1:8088';
const fake = useFake();

beforeAll(async () => {
  writeFileSync(fake.tokenFile, 'good-token\npractice-token\n');
  await fake.client().ensurePool('gpu-lab');
});

describe('the switchboard', () => {
  const documented = [...api.matchAll(/^\| `([A-Z]+) (\/_fake[^`?]*)(?:\?[^`]*)?`/gmu)].map(
    ([, method = '', path = '']) => ({ method, path: path.replace('ID', '1').replace('NAME', 'gpu-1') }),
  );

  test('has every call of the page, each once', () => {
    const calls = documented.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(calls).size).toBe(calls.length);
    const unknown = documented.filter(
      ({ method, path }) =>
        !isRouted(
          controlRoutes.filter(([each]) => each === method),
          path,
        ),
    );
    expect(unknown).toEqual([]);
  });

  test.each(controlRoutes.map(([method, pattern]) => [method, pattern] as const))(
    '%s %s is on the page',
    (method, pattern) => {
      expect(documented.filter((each) => each.method === method && pattern.test(each.path))).toHaveLength(1);
    },
  );

  test.each(Object.entries(bodies))('the members of %s are on the page', (_, schema) => {
    const missing = Object.keys(schema.shape).filter((name) => !api.includes(`\`${name}\``));
    expect(missing).toEqual([]);
  });
});

describe('what is shown', () => {
  const lines = [
    ...blocks(file, 'console')
      .flatMap(shownIn)
      .map(({ command }) => command),
    ...[...blocks(file, 'sh'), ...blocks('docs/practice-api.md', 'sh')].flatMap((block) => block.split('\n')),
  ].filter((line) => line.startsWith('curl '));

  test('is enough to look at', () => {
    expect(lines.length).toBeGreaterThan(20);
    const called = lines.map((line) => new URL(curlCall(line).url).origin);
    expect([...new Set(called)]).toEqual([shownOrigin]);
  });

  test('works, one after the other', async () => {
    for (const line of lines) {
      // Another number than on a server where nothing else was done before.
      const first = (await fake.control.jobs())[0]?.id ?? 0;
      const call = curlCall(line.replace(/\/jobs\/\d+/u, `/jobs/${first}`));
      const { status, text } = await callInstead(call, fake.server.origin);
      expect([200, 204], `${line}: ${text}`).toContain(status);
    }
    expect(await fake.control.jobs()).not.toEqual([]);
    expect((await fake.control.overview()).pools.find(({ name }) => name === 'Default')?.agents).toHaveLength(
      10_000,
    );
  });

  test("the client's program runs", async () => {
    const [program = ''] = blocks(file, 'js');
    const there = program.replaceAll(shownOrigin, fake.server.origin);
    expect(there).not.toBe(program);
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', there]);
    expect(stdout).toMatch(/^gpu-lab \d+$/mu);
  });

  test('the inventory is one', () => {
    const [source = ''] = blocks(file, 'yaml');
    const context = { env: {}, cwd: fake.folder, home: fake.folder };
    const fleet = parseFleet(source, 'inventory.yaml', context);
    expect(fleet.hosts.map(({ name }) => name)).toEqual(['rtx-box']);
  });

  test('the commands of az are those that the lab knows to work', () => {
    const shown = blocks(file, 'console').flatMap(shownIn);
    const commands = shown.map(
      ({ command }) => /\baz (?:devops|pipelines) [a-z]+(?: [a-z]+)?/u.exec(command)?.[0],
    );
    expect(new Set(commands.filter(Boolean)).size).toBeGreaterThanOrEqual(6);
  });
});

test('the options are those of the server, each in the words of its help', () => {
  const help = readFileSync('practice/azure/main.ts', 'utf8');
  const inHelp = [...help.matchAll(/^ {2}(--[a-z-]+ [A-Z:]+) /gmu)].map(([, option]) => option);
  const onPage = [...page.matchAll(/^\| `(--[a-z-]+ [A-Z:]+)`/gmu)].map(([, option]) => option);
  expect(new Set(onPage)).toEqual(new Set(inHelp));
  expect(inHelp).toHaveLength(6);
});
