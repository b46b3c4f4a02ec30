import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { stringify } from 'yaml';

import { planText } from '../src/cli/render/plan.ts';
import { statusText } from '../src/cli/render/status.ts';
import { statusRow } from '../src/fleet/status/row.ts';
import { change } from '../test/unit/fleet/plan/changes.ts';
import { facts, host, now, pool } from '../test/unit/fleet/status/observation.ts';
import { figure } from './floor.ts';
import { machines } from './flood/measure.ts';
import {
  azpFleet,
  cpus,
  type Extent,
  interleaved,
  type Program,
  type Taken,
  timedNode,
  walls,
} from './measure.ts';
import { PracticeServer } from './pools/server.ts';
import { token } from './pools/client.ts';
import { recordResults, table } from './results.ts';
import { writeInventory } from './start.ts';
import { exponent, ratios, spread } from './statistics.ts';

const sizes = [1, 10, 100, 300, 1000];
const large = 10_000;

type Results = Readonly<Record<'plan' | 'status', readonly Taken[]>>;

/**
 * `npm run bench -- growth [HOSTS…] [--long]`: `plan` and `status` of the shipped CLI over ever more hosts, which are SSH
 * servers with the same answers in one process beside it. With `--long` also 10,000.
 */
export async function run(args: readonly string[], { rounds = 2, long }: Extent): Promise<void> {
  const counts = args.length > 0 ? args.map(Number) : [...sizes, ...(long ? [large] : [])];
  const server = await PracticeServer.start();
  const folder = mkdtempSync(join(tmpdir(), 'azp-bench-'));
  try {
    const results = new Map<number, Results>();
    for (const count of counts) results.set(count, await measure(folder, server.organization, count, rounds));
    const list = await listed(folder, rounds);
    record(results, rounds, { list, ...drawn(rounds) });
  } finally {
    rmSync(folder, { recursive: true });
    await server.end();
  }
}

async function measure(
  folder: string,
  organization: string,
  count: number,
  rounds: number,
): Promise<Results> {
  const { child, places } = await machines(count, 'none');
  try {
    const hosts = places.map(({ port, hostKey }, index) => [
      `gpu-${index}`,
      { address: '127.0.0.1', port, hostKeys: [hostKey] },
    ]);
    const file = join(folder, 'inventory.yaml');
    const inventory = {
      organization,
      token: { env: 'BENCH_TOKEN' },
      defaults: { user: 'lab', pool: 'growth', loginPassword: { env: 'LOGIN' } },
      hosts: Object.fromEntries(hosts) as object,
    };
    writeFileSync(file, stringify(inventory));
    const env = { BENCH_TOKEN: token, LOGIN: 'a-login-password', XDG_STATE_HOME: folder };
    // 3: changes are pending; 1: these machines are not healthy.
    const verb = (name: string): Program => azpFleet([name, '-i', file], { env, cwd: folder, exits: [1, 3] });
    const one = async (name: string): Promise<Taken> => {
      const taken = await timedNode(verb(name));
      const unread = /.*(?:unreachable|incomplete).*/u.exec(taken.stdout)?.[0];
      return unread === undefined ? taken : { ...taken, failure: unread };
    };
    return await interleaved({ plan: () => one('plan'), status: () => one('status') }, rounds);
  } finally {
    child.disconnect();
  }
}

/** `inventory list` of the large inventory ÷ an empty Node program. */
async function listed(folder: string, rounds: number): Promise<readonly number[]> {
  const list = azpFleet(['inventory', 'list', '-i', writeInventory(folder, large)], {
    env: { XDG_STATE_HOME: folder },
  });
  const taken = await interleaved(
    { list: () => timedNode(list), empty: () => timedNode({ command: [process.execPath, '-e', '0'] }) },
    rounds,
  );
  return ratios(walls(taken.list), walls(taken.empty));
}

/** Milliseconds of CPU to draw a plan and a status of the large fleet, without its hosts. */
function drawn(rounds: number): Readonly<Record<'planMs' | 'statusMs', readonly number[]>> {
  const names = Array.from({ length: large }, (_, index) => `gpu-${index}`);
  const plan = {
    schema: 1 as const,
    version: '',
    at: '',
    inventory: '',
    inventoryDigest: '',
    fleet: [],
    hosts: names.map((name, index) => ({
      host: name,
      factsDigest: name,
      stages: [[change(`part ${index % 7}`), change('restart')]],
      refusals: [],
    })),
  };
  const rows = names.map((name) => statusRow({ host: { ...host, name }, facts: facts() }, () => pool, now));
  const times = (draw: () => string): readonly number[] =>
    Array.from({ length: rounds }, () => {
      const from = process.cpuUsage();
      draw();
      const { user, system } = process.cpuUsage(from);
      return (user + system) / 1000;
    });
  return {
    planMs: times(() => planText(plan, { color: false, scripts: false })),
    statusMs: times(() => statusText(rows, { width: 110, paint: (_, text) => text })),
  };
}

function record(
  results: ReadonlyMap<number, Results>,
  rounds: number,
  { list, planMs, statusMs }: Readonly<Record<'list' | 'planMs' | 'statusMs', readonly number[]>>,
): void {
  const peaks = (taken: readonly Taken[]) => taken.flatMap(({ usage }) => usage?.peakMB ?? []);
  const lines = [...results].flatMap(([count, all]) =>
    Object.entries(all).map(([verb, taken]) => {
      const { median, least, most } = spread(walls(taken));
      return [
        count,
        verb,
        median.toFixed(2),
        `${least.toFixed(2)} to ${most.toFixed(2)}`,
        spread(cpus(taken)).median.toFixed(2),
        spread(peaks(taken)).median.toFixed(0),
        spread(taken.flatMap(({ usage }) => usage?.descriptors ?? [])).median,
      ];
    }),
  );
  const [alone] = results.get(1)?.plan ?? [];
  // What one host costs is start-up for the most part.
  const grown = [...results].flatMap(([count, { plan }]) =>
    count >= 100 && alone !== undefined ? [[count, spread(walls(plan)).median - alone.wallS] as const] : [],
  );
  const fitted = grown.length > 1 ? exponent(grown) : undefined;
  const of = (count: number, verb: keyof Results) => results.get(count)?.[verb] ?? [];
  const rows = {
    'growth.plan-300-s': walls(of(300, 'plan')),
    'growth.status-300-s': walls(of(300, 'status')),
    'growth.memory-1000': peaks(of(1000, 'plan')),
    'growth.memory-10000': peaks(of(large, 'plan')),
    'growth.exponent': fitted === undefined ? [] : [fitted],
    'growth.list-10000': list,
    'growth.drawn-plan-ms': planMs,
    'growth.drawn-status-ms': statusMs,
  };
  const head = ['hosts', 'command', 'wall s', 'spread', 'client CPU s', 'peak MB', 'descriptors'];
  const exponentText =
    fitted === undefined
      ? ''
      : `\n\nTime of \`plan\` without that of one host, from 100 hosts on: hosts to the power of ${figure(fitted, '')}.`;
  recordResults(
    'growth',
    `light hosts: SSH servers with the same answers in one process; medians of ${rounds} rounds`,
    `${table(head, lines)}${exponentText}${limitText([...results], (taken) => spread(peaks(taken)).median)}

An inventory of ${large} hosts: \`inventory list\` takes ${figure(spread(list).median, '×')} of an empty Node program; to draw its plan takes
${figure(spread(planMs).median, 'ms')}, its status ${figure(spread(statusMs).median, 'ms')} of CPU.`,
    { rows: Object.fromEntries(Object.entries(rows).filter(([, values]) => values.length > 0)) },
  );
}

/** Returns what would break first: the descriptors do not grow, so it is memory. */
function limitText(
  results: readonly (readonly [number, Results])[],
  peakOf: (taken: readonly Taken[]) => number,
): string {
  const [[few, fewer] = [], [many, more] = []] = results.slice(-2);
  if (few === undefined || many === undefined || fewer === undefined || more === undefined) return '';
  const most = peakOf(more.plan);
  const each = (most - peakOf(fewer.plan)) / (many - few);
  const limit = getHeapStatistics().heap_size_limit / 1e6;
  return `\n\nNothing broke. Memory would be first: with ${figure(each * 1000, 'kB')} a host more, \`plan\` reaches Node's limit of ${limit.toFixed(0)} MB at about ${
    Math.round((many + (limit - most) / each) / 1000) * 1000
  } hosts.`;
}
