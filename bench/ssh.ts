import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { build } from 'esbuild';
import { stringify } from 'yaml';

import { machineRoot } from '../src/shared/base/host-root.ts';
import { factScript } from '../src/fleet/facts/gather.ts';
import { knownName, newKnownHost } from '../src/fleet/ssh/connect/known-hosts.ts';
import { startSshd } from '../test/support/sshd.ts';
import { figure } from './floor.ts';
import {
  azpFleet,
  cpus,
  type Extent,
  interleaved,
  type Program,
  type Taken,
  timed,
  timedNode,
  walls,
} from './measure.ts';
import { addressFile, ansible, execPrograms, type Hosts, installPeers, parallel, xargsSsh } from './peers.ts';
import { recordResults, table } from './results.ts';
import type { Setting } from './ssh-client.ts';
import { ratios, spread } from './statistics.ts';

/** Addresses that are also measured with known_hosts files. */
const largest = 1000;
/** Ansible needs minutes for a thousand addresses: those only with `--long`. */
const ansibleUpTo = 200;
const usualRounds = new Map([
  [50, 3],
  [200, 3],
  [1000, 1],
]);

/**
 * `npm run bench -- ssh [ADDRESSES]`: the facts of many addresses of one sshd (127.0.0.0/8), and one command on them, by
 * azp-fleet and by other tools. Both ends share the machine, so wall time is mostly the server's.
 */
export async function run(args: readonly string[], extent: Extent): Promise<void> {
  const beside = await installPeers();
  const sshd = await startSshd({
    // A plain user with an empty home: start-up files of the machine's own users would be what is measured.
    users: [{ name: 'bench' }],
    listen: '0.0.0.0',
    config: ['MaxStartups 2000', 'MaxSessions 10', 'LogLevel ERROR'],
  });
  const folder = mkdtempSync(join(tmpdir(), 'azp-bench-'));
  try {
    writeFileSync(join(folder, 'known_hosts'), `* ${sshd.hostKey}\n`);
    writeFileSync(join(folder, 'facts.sh'), factScript({ root: machineRoot }));
    const sizes = args.length > 0 ? args.map(Number) : extent.quick ? [200] : [...usualRounds.keys()];
    for (const count of sizes) {
      const hosts: Hosts = {
        folder: mkdtempSync(join(folder, 'of-')),
        addresses: Object.fromEntries(
          Array.from({ length: count }, (_, index) => [
            `h${index}`,
            `127.${1 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`,
          ]),
        ),
        user: 'bench',
        port: sshd.port,
        key: sshd.clientKeyFile,
        knownHosts: join(folder, 'known_hosts'),
      };
      const script = join(folder, 'facts.sh');
      const rounds = extent.rounds ?? (extent.quick ? 1 : (usualRounds.get(count) ?? 1));
      const isAnsible = count <= ansibleUpTo || extent.long;
      const fleet = await fleetClient(hosts, script, sshd.hostKey);
      const facts = await measure(
        {
          'azp-fleet': fleet({ blocks: false, watch: false }),
          ...(count < largest
            ? { 'azp-fleet, a block a host in ssh_config': fleet({ blocks: true, watch: false }) }
            : {}),
          'bare ssh2': bareClient(hosts, script),
          'xargs ssh': xargsSsh(hosts, 'sh -s', script),
        },
        isAnsible ? () => ansible(hosts, ['ansible', 'all', '-m', 'setup', '-o']) : undefined,
        rounds,
      );
      const exec = extent.quick
        ? {}
        : await measure(
            { 'azp-fleet': execByCli(hosts, { hostKeys: [sshd.hostKey] }), ...execPrograms(hosts, 'true') },
            isAnsible ? () => ansible(hosts, ['ansible', 'all', '-m', 'raw', '-a', 'true']) : undefined,
            rounds,
          );
      const known =
        count === largest ? await measure(byKnownHosts(hosts, sshd.hostKey), undefined, rounds) : {};
      const left = extent.quick ? '' : (await timed(fleet({ blocks: false, watch: true }))).stdout;
      record(count, rounds, { facts, exec, known, left }, beside);
    }
  } finally {
    sshd.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The CLI's `exec` with a known_hosts file instead of pins: plain names, hashed ones, and hashed ones of three times as many. */
function byKnownHosts(hosts: Hosts, hostKey: string): Readonly<Record<string, Program>> {
  const [type = '', base64 = ''] = hostKey.split(' ');
  const names = Object.values(hosts.addresses).map((address) => knownName(address, hosts.port));
  const others = Array.from({ length: 2 * names.length }, (_, index) => `other-${index}.example`);
  const program = (name: string, of: readonly string[], hashed: boolean): Program => {
    const folder = join(hosts.folder, name);
    mkdirSync(folder);
    const file = join(folder, 'known_hosts');
    writeFileSync(file, of.map((each) => newKnownHost(each, { type, base64 }, hashed)).join(''));
    writeFileSync(join(folder, 'config'), `UserKnownHostsFile ${file}\nStrictHostKeyChecking yes\n`);
    return execByCli({ ...hosts, folder }, { sshConfig: join(folder, 'config') });
  };
  return {
    'azp-fleet': program('plain', names, false),
    hashed: program('hashed', names, true),
    'hashed, 3 times': program('hashed3', [...names, ...others], true),
  };
}

type Results = Readonly<Record<string, readonly Taken[]>>;

function measure(
  programs: Readonly<Record<string, Program>>,
  byAnsible: (() => Program) | undefined,
  rounds: number,
): Promise<Results> {
  const contenders = Object.entries(programs).map(
    ([name, program]) => [name, () => timedNode(program)] as const,
  );
  const more = byAnsible === undefined ? [] : [['Ansible', () => timed(byAnsible())] as const];
  return interleaved(Object.fromEntries([...contenders, ...more]), rounds);
}

/** A loop around ssh2 that reads the facts: no client is faster. */
export function bareClient(hosts: Hosts, script: string): Program {
  const { port, user, key } = hosts;
  const setting = { hosts: addressFile(hosts), script, port, user, key, concurrency: parallel };
  return {
    command: [process.execPath, join(import.meta.dirname, 'bare-client.mjs'), JSON.stringify(setting)],
  };
}

/** azp-fleet's connections, built as the CLI is, that read the facts. */
async function fleetClient(
  hosts: Hosts,
  script: string,
  hostKey: string,
): Promise<(how: Pick<Setting, 'blocks' | 'watch'>) => Program> {
  const here = import.meta.dirname;
  // Below node_modules, so that it finds the packages.
  const outfile = join(here, '../node_modules/.cache/bench/ssh-client.mjs');
  await build({
    entryPoints: [join(here, 'ssh-client.ts')],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
  });
  const { port, user, key } = hosts;
  const same = { hosts: addressFile(hosts), script, port, user, key, hostKey, concurrency: parallel };
  return (how) => {
    const setting: Setting = { ...same, ...how };
    return {
      command: [process.execPath, ...(how.watch ? ['--expose-gc'] : []), outfile, JSON.stringify(setting)],
    };
  };
}

/** The shipped CLI with an inventory of these addresses. `keys`: how host keys are checked. */
function execByCli(
  { folder, addresses, user, port, key }: Hosts,
  keys: { readonly hostKeys: readonly string[] } | { readonly sshConfig: string },
): Program {
  const file = join(folder, 'inventory.yaml');
  const inventory = {
    organization: 'https://dev.azure.com/example',
    token: { env: 'NONE' },
    defaults: { user, port, pool: 'p', identityFile: key, ...keys },
    hosts: Object.fromEntries(Object.entries(addresses).map(([name, address]) => [name, { address }])),
  };
  writeFileSync(file, stringify(inventory));
  return azpFleet(['exec', '-i', file, '--login', '--', 'true'], { env: { XDG_STATE_HOME: folder } });
}

function record(
  count: number,
  rounds: number,
  {
    facts,
    exec,
    known,
    left,
  }: { readonly facts: Results; readonly exec: Results; readonly known: Results; readonly left: string },
  beside: string,
): void {
  const of = (results: Results, name: string): readonly Taken[] => results[name] ?? [];
  const wall = (results: Results, over: string, under: string) =>
    ratios(walls(of(results, over)), walls(of(results, under)));
  const cpu = (over: string, under: string) => ratios(cpus(of(facts, over)), cpus(of(facts, under)));
  const execRows = Object.keys(exec)
    .filter((name) => name !== 'azp-fleet')
    .map((name): [string, readonly number[]] => [
      `ssh.exec-${count}-${name.replace(' ', '-').toLowerCase()}`,
      wall(exec, name, 'azp-fleet'),
    ]);
  const overPlain = (name: string) => {
    const plain = cpus(of(known, 'azp-fleet'));
    return cpus(of(known, name)).map((seconds, round) => seconds - (plain[round] ?? NaN));
  };
  const rows = {
    [`ssh.facts-${count}-ansible`]: wall(facts, 'Ansible', 'azp-fleet'),
    [`ssh.facts-${count}-wall`]: wall(facts, 'azp-fleet', 'bare ssh2'),
    [`ssh.facts-${count}-cpu`]: cpu('azp-fleet', 'bare ssh2'),
    [`ssh.facts-${count}-cpu-xargs`]: cpu('xargs ssh', 'azp-fleet'),
    ...Object.fromEntries(execRows),
    [`ssh.hashed-${count}-s`]: overPlain('hashed'),
    [`ssh.hashed-${count}-3-s`]: overPlain('hashed, 3 times'),
  };
  // Other numbers of addresses have no rows.
  const measured = usualRounds.has(count)
    ? Object.entries(rows).filter(([, values]) => values.length > 0)
    : [];
  const lines = (what: string, results: Results) =>
    Object.entries(results).map(([name, taken]) => {
      const { median, least, most } = spread(walls(taken));
      const slower = spread(wall(results, name, 'azp-fleet')).median;
      return [
        what,
        name,
        median.toFixed(2),
        `${least.toFixed(2)} to ${most.toFixed(2)}`,
        figure(slower, ''),
        spread(cpus(taken)).median.toFixed(2),
        taken.at(-1)?.usage?.peakMB.toFixed(0),
      ];
    });
  const head = ['what', 'client', 'wall s', 'spread', '÷ azp-fleet', 'client CPU s', 'peak MB'];
  recordResults(
    count === 1000 ? 'ssh' : `ssh, ${count} addresses`,
    `${count} addresses of one sshd, ${parallel} at a time, ${rounds} rounds in turns, both ends on this machine`,
    `${table(head, [...lines('facts', facts), ...lines('exec', exec), ...lines('known_hosts', known)])}

What the connections of azp-fleet left after the last host: ${left}`,
    { part: 'ssh', beside, rows: Object.fromEntries(measured) },
  );
}
