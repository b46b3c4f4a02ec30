import ssh2 from 'ssh2';

import { writeInventory } from '../practice/lab/inventory.ts';
import type { LabHost } from '../practice/lab/host.ts';
import { removeLab } from '../practice/lab/lab.ts';
import { HostPaths } from '../src/shared/contract/paths.ts';
import { startDelayProxy } from '../test/support/delay-proxy.ts';
import { readFileSync } from 'node:fs';
import { type BenchFleet, benchFleet, done, prefix } from './hosts.ts';
import { type Extent, interleaved, type Program, type Taken, timed, walls } from './measure.ts';
import { recordResults, table } from './results.ts';
import { spread } from './statistics.ts';

const delaysMs = [0, 50, 200];
const lost = 0.01;

/**
 * `npm run bench -- links`: one provisioned machine of the lab behind a proxy that delays every byte, and behind a firewall
 * that loses packets.
 */
export async function run(_args: readonly string[], { rounds = 3 }: Extent): Promise<void> {
  await removeLab(prefix);
  try {
    const fleet = await benchFleet(false, [
      { name: 'a', release: 'bookworm', login: 'root', gpus: ['h200'] },
    ]);
    const [host] = fleet.lab.hosts;
    if (host === undefined) return;
    await done(fleet.cli(['provision', '--yes']));
    const results: Record<string, Readonly<Record<string, readonly Taken[]>>> = {};
    let trips: readonly number[] = [];
    for (const delay of delaysMs) {
      const proxy = await startDelayProxy(22, delay / 2, host.address);
      try {
        await throughPort(fleet, host, proxy.port);
        results[`${delay} ms`] = await measure(fleet, host, rounds);
        if (delay > 100) trips = await roundTrips(fleet, proxy, rounds);
      } finally {
        proxy.close();
      }
    }
    await throughPort(fleet, host, undefined);
    await losePackets(host, true);
    results[`${lost * 100} % lost`] = await measure(fleet, host, rounds);
    await losePackets(host, false);
    record(results, trips, rounds);
  } finally {
    await removeLab(prefix);
  }
}

/** Writes the fleet's inventory again, with the host behind this port of the machine. */
async function throughPort({ lab, azure, pool }: BenchFleet, host: LabHost, port?: number): Promise<void> {
  const entry = port === undefined ? {} : { address: '127.0.0.1', port };
  await writeInventory(lab, azure, { pool, hosts: { [host.name]: entry } });
}

async function losePackets(host: LabHost, on: boolean): Promise<void> {
  const rules = ['INPUT', 'OUTPUT'].map(
    (chain) =>
      `iptables -w ${on ? '-I' : '-D'} ${chain} ! -i lo -p tcp -m statistic --mode random --probability ${lost} -j DROP`,
  );
  await host.exec(rules.join(' && ').replace('OUTPUT ! -i', 'OUTPUT ! -o'));
}

function measure(
  { cli }: BenchFleet,
  host: LabHost,
  rounds: number,
): Promise<Readonly<Record<string, readonly Taken[]>>> {
  const after = (damage: string, program: () => Program) => async (): Promise<Taken> => {
    await host.exec(damage);
    return timed(program());
  };
  const provision = (): Program => cli(['provision', '--yes', '--no-probe']);
  return interleaved(
    {
      connect: () => timed(cli(['exec', '--', 'true'])),
      facts: () => timed(cli(['plan'])),
      unchanged: () => timed(provision()),
      'one file': after(`echo >>${HostPaths.config}`, provision),
      'a manager uploaded': after(`rm -rf ${HostPaths.versions}/* ${HostPaths.current}`, provision),
    },
    rounds,
  );
}

/** Round trips of a run with nothing to change, without those of the connection. */
async function roundTrips(
  { cli, lab }: BenchFleet,
  proxy: { readonly port: number; readonly turns: () => number },
  rounds: number,
): Promise<readonly number[]> {
  const turns = async (work: () => Promise<unknown>): Promise<number> => {
    const before = proxy.turns();
    await work();
    return proxy.turns() - before;
  };
  const values: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const whole = await turns(() => done(cli(['provision', '--yes', '--no-probe'])));
    values.push(whole - (await turns(() => connectOnly(proxy.port, lab.key))));
  }
  return values;
}

async function connectOnly(port: number, key: string): Promise<void> {
  const client = new ssh2.Client();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  client
    .on('error', reject)
    .on('close', resolve)
    .on('ready', () => client.end());
  client.connect({ host: '127.0.0.1', port, username: 'root', privateKey: readFileSync(key) });
  await promise;
}

function record(
  results: Readonly<Record<string, Readonly<Record<string, readonly Taken[]>>>>,
  trips: readonly number[],
  rounds: number,
): void {
  const lines = Object.entries(results).map(([link, all]) => [
    link,
    ...Object.values(all).map((taken) => {
      const { median, least, most } = spread(walls(taken));
      return `${median.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`;
    }),
  ]);
  const head = ['link', ...Object.keys(Object.values(results)[0] ?? {}).map((name) => `${name}, s`)];
  recordResults(
    'links',
    `one provisioned machine of the lab, ${rounds} rounds in turns; the delay is that of a round trip`,
    `${table(head, lines)}\n\nRound trips of \`provision --no-probe\` beyond those of the connection: ${spread(trips).median}.`,
    { rows: { 'links.trips': trips } },
  );
}
