import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { percentile } from './percentile.ts';
import { recordResults } from './results.ts';

const rounds = 25;

interface Way {
  readonly name: string;
  readonly args: readonly string[];
}

/**
 * `npm run bench -- start [CHECKOUT]`: time of a command without network access, beside a Node that does nothing and, if
 * named, the built CLI of another checkout. All take turns, so that a busy machine is busy for all.
 */
export function run(args: readonly string[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-bench-'));
  try {
    const inventory = join(folder, 'inventory.yaml');
    writeFileSync(inventory, inventoryText(300));
    const ways = [join(import.meta.dirname, '..'), ...args.map((path) => resolve(path))].flatMap(
      (root, index) =>
        [['--version'], ['--help'], ['inventory', 'list', inventory]].map((command): Way => {
          const said = command.map((word) => (word === inventory ? '(300 hosts)' : word)).join(' ');
          const whose = index === 0 ? 'azp-fleet' : 'the other checkout';
          return { name: `${whose} ${said}`, args: [join(root, 'bin/azp-fleet.js'), ...command] };
        }),
    );
    const bare: Way = { name: 'Node, an empty program', args: ['--input-type=module', '-e', '0'] };
    const costs = measure([bare, ...ways], folder);
    const base = costs.get(bare.name) ?? Number.NaN;
    const lines = [...costs].map(
      ([name, wall]) => `| ${name} | ${wall.toFixed(0)} | ${(wall / base).toFixed(2)} |`,
    );
    const head = '| program | wall ms | ÷ empty program |\n|---|---|---|';
    recordResults('start', `the median of ${rounds} starts each, taking turns`, [head, ...lines].join('\n'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function measure(ways: readonly Way[], cwd: string): ReadonlyMap<string, number> {
  const env = { ...process.env, XDG_STATE_HOME: cwd };
  const seen = ways.map((way) => ({ ...way, walls: [] as number[] }));
  for (let round = 0; round < rounds; round += 1) {
    for (const { args, name, walls } of seen) {
      const from = performance.now();
      const { status, stderr } = spawnSync(process.execPath, args, { cwd, env, encoding: 'utf8' });
      walls.push(performance.now() - from);
      if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr}`);
    }
  }
  return new Map(seen.map(({ name, walls }) => [name, percentile(walls, 0.5)]));
}

function inventoryText(hosts: number): string {
  const names = Array.from({ length: hosts }, (_, index) => `  h${index}: {}`);
  const head = ['organization: https://dev.azure.com/example', 'token: { env: AZP_TOKEN }'];
  return [...head, 'defaults: { pool: gpu }', 'hosts:', ...names, ''].join('\n');
}
