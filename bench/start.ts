import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { commands } from '../src/cli/commands.ts';
import type { Extent } from './measure.ts';
import { recordResults, table } from './results.ts';
import { ratios, spread } from './statistics.ts';

const root = join(import.meta.dirname, '..');

interface Way {
  readonly name: string;
  readonly args: readonly string[];
  /** Folder of the compile cache; default: a warm one. */
  readonly cache?: () => string;
}

const empty: Way = { name: 'Node, an empty program', args: ['-e', '0'] };

/**
 * `npm run bench -- start [CHECKOUT]`: time of commands without network access, beside a Node that does nothing and, if
 * named, the built CLI of another checkout. All take turns, so that a busy machine is busy for all. Then the sizes.
 */
export function run(args: readonly string[], extent: Extent): void {
  const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-bench-'));
  const cold = (): string => mkdtempSync(join(folder, 'cold-'));
  try {
    const rounds = extent.rounds ?? (extent.quick ? 9 : 25);
    const inventories = [3, 300].map((hosts) => writeInventory(folder, hosts));
    const ways = [root, ...args.map((path) => resolve(path))].flatMap((checkout, index) => {
      const whose = index === 0 ? '' : 'the other checkout: ';
      const cli = join(checkout, 'bin/azp-fleet.js');
      const list = (file = ''): readonly string[] => [cli, 'inventory', 'list', '-i', file];
      return [
        { name: `${whose}--help`, args: [cli, '--help'] },
        { name: `${whose}--help, cold cache`, args: [cli, '--help'], cache: cold },
        { name: `${whose}inventory list, 3 hosts`, args: list(inventories[0]) },
        { name: `${whose}inventory list, 3 hosts, cold cache`, args: list(inventories[0]), cache: cold },
        { name: `${whose}inventory list, 300 hosts`, args: list(inventories[1]) },
      ];
    });
    const times = measure([empty, ...ways], folder, rounds);
    const verbs = commands.map(({ name }): Way => ({
      name: `${name} --help`,
      args: [join(root, 'bin/azp-fleet.js'), ...name.split(' '), '--help'],
    }));
    const helps = measure([empty, ...verbs], folder, extent.quick ? 3 : 9);
    record(rounds, times, helps);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

type Times = ReadonlyMap<string, readonly number[]>;

function measure(ways: readonly Way[], cwd: string, rounds: number): Times {
  const warm = join(cwd, 'warm');
  const start = ({ name, args, cache = () => warm }: Way): number => {
    const env = { ...process.env, XDG_STATE_HOME: cwd, NODE_COMPILE_CACHE: cache() };
    const from = performance.now();
    const { status, stderr } = spawnSync(process.execPath, args, { cwd, env, encoding: 'utf8' });
    const wall = performance.now() - from;
    if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr}`);
    return wall;
  };
  for (const way of ways) start(way);
  const seen = ways.map((way) => ({ way, walls: [] as number[] }));
  for (let round = 0; round < rounds; round += 1) for (const { way, walls } of seen) walls.push(start(way));
  return new Map(seen.map(({ way, walls }) => [way.name, walls]));
}

function record(rounds: number, times: Times, helps: Times): void {
  const over = (all: Times, name: string) => ratios(all.get(name) ?? [], all.get(empty.name) ?? []);
  const lines = (all: Times) =>
    [...all].map(([name, walls]) => {
      const { median, least, most } = spread(walls);
      const range = `${least.toFixed(0)} to ${most.toFixed(0)}`;
      return [name, median.toFixed(0), range, spread(over(all, name)).median.toFixed(2)];
    });
  const verbs = [...helps.keys()].filter((name) => name !== empty.name).map((name) => over(helps, name));
  const slowest = verbs.toSorted((a, b) => spread(b).median - spread(a).median)[0] ?? [];
  const sizes = measureSizes();
  const head = ['program', 'wall ms', 'spread', '÷ empty program'];
  recordResults(
    'start',
    `${rounds} starts each, taking turns, and the sizes`,
    [
      table(head, lines(times)),
      table(head, lines(helps)),
      table(
        ['size', 'value'],
        Object.entries(sizes).map(([name, value]) => [name, value.toFixed(0)]),
      ),
    ].join('\n\n'),
    {
      rows: {
        'start.help-warm': over(times, '--help'),
        'start.help-cold': over(times, '--help, cold cache'),
        'start.list-warm': over(times, 'inventory list, 3 hosts'),
        'start.list-cold': over(times, 'inventory list, 3 hosts, cold cache'),
        'start.slowest-help': slowest,
        ...Object.fromEntries(Object.entries(sizes).map(([name, value]) => [`start.${name}`, [value]])),
      },
    },
  );
}

/** What a user downloads and keeps, in kB of 1000 bytes. */
function measureSizes(): Readonly<Record<string, number>> {
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ size }] = JSON.parse(packed) as readonly [{ readonly size: number }];
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly optional?: boolean }>>;
  };
  const packages = Object.entries(lock.packages)
    .filter(([path, { dev, optional }]) => path !== '' && dev !== true && optional !== true)
    .map(([path]) => path);
  // A package inside another one has its own entry.
  const kB = (folder: string, exclude: string): number => bytesIn(join(root, folder), exclude) / 1000;
  return {
    'package-kB': size / 1000,
    'dist-kB': kB('dist', '**/*.map'),
    dependencies: packages.length,
    'dependencies-kB': packages.reduce((sum, path) => sum + kB(path, 'node_modules'), 0),
  };
}

function bytesIn(cwd: string, exclude: string): number {
  return globSync('**', { cwd, exclude: [exclude] })
    .map((name) => statSync(join(cwd, name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}

/** Writes an inventory with so many hosts; returns its path. */
export function writeInventory(folder: string, hosts: number): string {
  const file = join(folder, `${hosts}-hosts.yaml`);
  const names = Array.from({ length: hosts }, (_, index) => `  h${index}: {}`);
  const head = ['organization: https://dev.azure.com/example', 'token: { env: AZP_TOKEN }'];
  writeFileSync(file, [...head, 'defaults: { pool: gpu }', 'hosts:', ...names, ''].join('\n'));
  return file;
}
