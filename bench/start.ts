import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { commands } from '../src/cli/commands.ts';
import { figure } from './floor.ts';
import { type Extent, timed } from './measure.ts';
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
export async function run(args: readonly string[], extent: Extent): Promise<void> {
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
    record(rounds, { times, helps, sizes: { ...(await measureSizes(folder)), ...dependencyAges() } });
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

type Sizes = Readonly<Record<string, number>>;

function record(
  rounds: number,
  { times, helps, sizes }: { readonly times: Times; readonly helps: Times; readonly sizes: Sizes },
): void {
  const over = (all: Times, name: string) => ratios(all.get(name) ?? [], all.get(empty.name) ?? []);
  const lines = (all: Times) =>
    [...all].map(([name, walls]) => {
      const { median, least, most } = spread(walls);
      const range = `${least.toFixed(0)} to ${most.toFixed(0)}`;
      return [name, median.toFixed(0), range, spread(over(all, name)).median.toFixed(2)];
    });
  const verbs = [...helps.keys()].filter((name) => name !== empty.name).map((name) => over(helps, name));
  const slowest = verbs.toSorted((a, b) => spread(b).median - spread(a).median)[0] ?? [];
  const head = ['program', 'wall ms', 'spread', '÷ empty program'];
  recordResults(
    'start',
    `${rounds} starts each, taking turns, and the sizes`,
    [
      table(head, lines(times)),
      table(head, lines(helps)),
      table(
        ['size', 'value'],
        Object.entries(sizes).map(([name, value]) => [name, figure(value, '')]),
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

/** What a user downloads, waits for and keeps; kB are of 1000 bytes. */
async function measureSizes(folder: string): Promise<Sizes> {
  const packed = npm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder]);
  const [{ size, filename }] = JSON.parse(packed) as readonly [
    { readonly size: number; readonly filename: string },
  ];
  const options = ['--global', '--prefix', join(folder, 'installed'), '--no-audit', '--no-fund'];
  const install = await timed({ command: ['npm', 'install', ...options, join(folder, filename)] });
  if (install.failure !== undefined) throw new Error(install.failure);
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
    'install-s': install.wallS,
    'dist-kB': kB('dist', '**/*.map'),
    dependencies: packages.length,
    'dependencies-kB': packages.reduce((sum, path) => sum + kB(path, 'node_modules'), 0),
  };
}

function npm(args: readonly string[]): string {
  return execFileSync('npm', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

/**
 * The number of packages in the programs, and the days since the releases of those that package.json names, by the npm
 * registry: the median, and the oldest. Without a registry only the number.
 */
function dependencyAges(): Sizes {
  const all = bundledPackages(readFileSync(join(root, 'dist/licenses.txt'), 'utf8'));
  const { devDependencies: named } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  try {
    const days = all
      .filter(({ name, version }) => named[name] === version)
      .map(({ name, version }) => {
        const released = JSON.parse(npm(['view', name, 'time', '--json'])) as Readonly<
          Record<string, string>
        >;
        return (Date.now() - Date.parse(released[version] ?? '')) / 86_400_000;
      });
    const { median, most } = spread(days);
    return { bundled: all.length, 'age-days': median, 'oldest-days': most };
  } catch {
    return { bundled: all.length };
  }
}

/** Returns the packages of dist/licenses.txt, which has a title for each: `name version: license`. Pure. */
export function bundledPackages(
  licenses: string,
): readonly { readonly name: string; readonly version: string }[] {
  const titles = licenses.split(/^-{80}$/mu).map((part) => part.trimStart().split('\n')[0] ?? '');
  return titles.flatMap((title) => {
    const [, name, version] = /^((?:@[^/ ]+\/)?[^/ ]+) (\d[^ :]*)(?:: |$)/u.exec(title) ?? [];
    return name === undefined || version === undefined ? [] : [{ name, version }];
  });
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
