import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { cliEnvironment } from '../practice/lab/azp-fleet.ts';
import { type LabAzure, startAzure } from '../practice/lab/azure.ts';
import { docker } from '../practice/lab/engine.ts';
import type { HostOptions, LabHost } from '../practice/lab/host.ts';
import { writeInventory } from '../practice/lab/inventory.ts';
import { type Lab, removeLab, startLab } from '../practice/lab/lab.ts';
import { startStackLab } from '../practice/lab/provisioned.ts';
import { run as runProgram } from '../practice/lab/run.ts';
import { factScript } from '../src/fleet/facts/gather.ts';
import { createAzureClient } from '../src/shared/azure/create-client.ts';
import { patCredential } from '../src/shared/azure/http/credential.ts';
import { systemClock } from '../src/shared/base/clock.ts';
import { machineRoot } from '../src/shared/base/host-root.ts';
import { silentLogger } from '../src/shared/base/log.ts';
import { Secret } from '../src/shared/base/secret.ts';
import { Raw, sh } from '../src/shared/base/shell.ts';
import { HostPaths } from '../src/shared/contract/paths.ts';
import { figure } from './floor.ts';
import {
  azpFleet,
  cpus,
  type Extent,
  interleaved,
  type Program,
  type Taken,
  timed,
  walls,
} from './measure.ts';
import { ansible, execPrograms, type Hosts, installPeers } from './peers.ts';
import { recordResults, table } from './results.ts';
import { bareClient } from './ssh.ts';
import { ratios, spread } from './statistics.ts';

export const prefix = 'bench';
const pool = 'gpu-bench';
const machines: readonly HostOptions[] = ['a', 'b', 'c'].map((name) => ({
  name,
  release: 'bookworm',
  login: 'root',
  gpus: ['h200'],
}));

export interface BenchFleet {
  readonly lab: Lab;
  readonly azure: LabAzure;
  readonly pool: string;
  /** A verb of the CLI on this fleet. */
  readonly cli: (args: readonly string[], env?: Readonly<Record<string, string>>) => Program;
}

/**
 * Starts machines of the lab: bare ones, or with driver, Docker Engine and toolkit from a snapshot. The agents of earlier
 * machines with these names are removed from the server.
 */
export async function benchFleet(
  isBare: boolean,
  hosts: readonly HostOptions[] = machines,
): Promise<BenchFleet> {
  const lab = await (isBare ? startLab : startStackLab)({ prefix, hosts });
  const azure = await startAzure(prefix, lab.folder);
  await removeAgents(azure);
  const inventory = await writeInventory(lab, azure, { pool });
  const cli: BenchFleet['cli'] = ([verb = '', ...args], env) =>
    azpFleet([verb, '-i', inventory, ...args], {
      cwd: lab.folder,
      env: { ...cliEnvironment(lab.folder), ...env },
    });
  return { lab, azure, pool, cli };
}

async function removeAgents({ organization, token }: LabAzure): Promise<void> {
  const client = createAzureClient({
    organization,
    credential: patCredential(new Secret(token)),
    log: silentLogger,
    signal: new AbortController().signal,
    clock: systemClock(1),
  });
  const found = await client.findPool(pool);
  if (found === undefined) return;
  for (const { id } of await client.listAgents(found.id)) await client.deleteAgent(found.id, id);
}

/** Installs what Ansible needs on a host, as an installed Debian has it. */
async function withPython({ hosts }: Lab): Promise<void> {
  const install = 'apt-get -q update && apt-get -q -y --no-install-recommends install python3 python3-apt';
  await Promise.all(hosts.map((host) => host.exec(`python3 -c 'import apt' 2>/dev/null || { ${install}; }`)));
}

/** Runs a program that must succeed; only its end matters. */
export async function done(program: Program): Promise<Taken> {
  const taken = await timed(program);
  if (taken.failure !== undefined) throw new Error(`${program.command.join(' ')}: ${taken.failure}`);
  return taken;
}

/** `npm run bench -- hosts`: three machines of the lab, by azp-fleet, by Ansible, by other tools, and by hand. */
export async function run(_args: readonly string[], extent: Extent): Promise<void> {
  const beside = await installPeers();
  await removeLab(prefix);
  try {
    const fresh = extent.quick ? undefined : await freshHosts(extent.rounds ?? 1);
    const fleet = fresh?.fleet ?? (await benchFleet(false));
    await withPython(fleet.lab);
    await done(fleet.cli(['provision', '--yes']));
    const peer = new Playbook(fleet, await captured(fleet.lab));
    // Ansible's own first run: its state on the hosts is not azp-fleet's.
    await done(peer.play());
    await done(fleet.cli(['provision', '--yes']));
    const rounds = extent.rounds ?? (extent.quick ? 1 : 3);
    const results = {
      ...fresh?.results,
      ...(await unchanged(fleet, peer, rounds)),
      ...(await changed(fleet, peer, rounds)),
      ...(await others(fleet, peer, rounds)),
    };
    const cpuMs = await hostCpu(fleet, rounds);
    record(rounds, results, { cpuMs, scriptsS: fresh?.scriptsS ?? [] }, beside);
  } finally {
    await removeLab(prefix);
  }
}

type Results = Readonly<Record<string, readonly Taken[]>>;

interface Fresh {
  readonly results: Results;
  /** Seconds of scripts and builds on the slowest host, for each run of azp-fleet. */
  readonly scriptsS: readonly number[];
  readonly fleet: BenchFleet;
}

/** Bare machines for each contender of each round; the machines of the last one stay. */
async function freshHosts(rounds: number): Promise<Fresh> {
  const scriptsS: number[] = [];
  let fleet: BenchFleet | undefined;
  let files: Captured | undefined;
  const bare = async (): Promise<BenchFleet> => {
    await Promise.all((fleet?.lab.hosts ?? []).map((host) => host.remove()));
    fleet = await benchFleet(true);
    await withPython(fleet.lab);
    return fleet;
  };
  const ours = async (): Promise<Taken> => {
    const { lab, cli } = await bare();
    const taken = await timed(cli(['provision', '--yes']));
    files ??= await captured(lab);
    scriptsS.push(Math.max(...lab.hosts.map(({ name }) => scriptSeconds(logOf(lab), name))));
    return taken;
  };
  const later = async (program: (fleet: BenchFleet, files: Captured) => Program): Promise<Taken> => {
    if (files === undefined) await ours();
    const on = await bare();
    return timed(program(on, files as Captured));
  };
  const results: Taken[][] = [[], [], []];
  // In this order in every round: the other contenders install the files that azp-fleet has written.
  for (let round = 0; round < rounds; round += 1) {
    const contenders = [
      ours,
      () => later(byHand),
      () => later((on, from) => new Playbook(on, from).play({ probe: true })),
    ];
    for (const [index, contender] of contenders.entries()) {
      const taken = await contender();
      if (taken.failure !== undefined) throw new Error(`fresh hosts, ${index}: ${taken.failure}`);
      process.stderr.write(`fresh hosts, ${index}: ${taken.wallS.toFixed(1)} s\n`);
      results[index]?.push(taken);
    }
  }
  if (fleet === undefined) throw new Error('at least one round is needed');
  const [own = [], hand = [], peer = []] = results;
  return {
    results: { 'fresh: azp-fleet': own, 'fresh: by hand': hand, 'fresh: Ansible': peer },
    scriptsS,
    fleet,
  };
}

/** The lines of the last run's log. */
function logOf({ folder }: Lab): readonly LogLine[] {
  const logs = join(folder, 'home/state/azp-fleet/logs');
  const last = readdirSync(logs).toSorted().at(-1) ?? '';
  const lines = readFileSync(join(logs, last), 'utf8').trimEnd().split('\n');
  return lines.map((text) => JSON.parse(text) as LogLine);
}

interface LogLine {
  readonly host?: string;
  readonly kind?: string;
  readonly id?: string;
  /** Of a script that has ended. */
  readonly ms?: number;
  /** Of a change that has ended. */
  readonly durationMs?: number;
}

/** Seconds of a host's scripts and of its image build, which the manager's start waits for. */
function scriptSeconds(log: readonly LogLine[], name: string): number {
  const own = log.filter(({ host }) => host === name);
  const isStart = ({ id = '' }: LogLine): boolean => id.startsWith('manager-start');
  const [from, to] = [own.findIndex(isStart), own.findLastIndex(isStart)];
  const scripts = own.filter((_, index) => index < from || index > to).map(({ ms = 0 }) => ms);
  const all = [...scripts, own[to]?.durationMs ?? 0];
  return all.reduce((sum, ms) => sum + ms, 0) / 1000;
}

/** What azp-fleet has written on the hosts, for those that do the same. */
interface Captured {
  /** Has `opt.tar.gz`, `HOST/etc` and `HOST.tar.gz`, which is the same. */
  readonly folder: string;
  readonly packages: Readonly<Record<string, HostPackages>>;
  /** Folder of the manager's version on the hosts. */
  readonly current: string;
}

interface HostPackages {
  /** NAME=VERSION */
  readonly packages: readonly string[];
  readonly holds: readonly string[];
}

const etcFiles = [
  '/etc/apt/keyrings',
  '/etc/apt/sources.list.d',
  '/etc/docker/daemon.json',
  HostPaths.etc,
  HostPaths.unit,
];

async function captured({ folder: place, hosts }: Lab): Promise<Captured> {
  const folder = mkdtempSync(join(place, 'captured-'));
  const packages: Record<string, HostPackages> = {};
  let current = '';
  for (const host of hosts) {
    const root = join(folder, host.name);
    for (const path of etcFiles) await copyFrom(host, path, root);
    await runProgram('tar', ['-czf', `${root}.tar.gz`, '-C', root, 'etc']);
    packages[host.name] = await packagesOf(host);
    current = (await host.exec(`readlink -f ${HostPaths.current}`)).stdout.trim();
  }
  const [first] = hosts;
  if (first !== undefined) await copyFrom(first, HostPaths.opt, join(folder, 'root'));
  await runProgram('tar', ['-czf', join(folder, 'opt.tar.gz'), '-C', join(folder, 'root'), 'opt']);
  return { folder, packages, current };
}

async function copyFrom({ container }: LabHost, path: string, root: string): Promise<void> {
  const parent = join(root, path, '..');
  mkdirSync(parent, { recursive: true });
  await docker(['cp', `${container}:${path}`, parent]);
}

/** Those that azp-fleet holds, and the kernel's headers, which it does not hold. */
async function packagesOf(host: LabHost): Promise<HostPackages> {
  const { stdout: held } = await host.exec('apt-mark showhold');
  const { stdout: versions } = await host.exec(
    `dpkg-query -W -f '\${Package}=\${Version}\\n' $(apt-mark showhold; apt-mark showmanual | grep '^linux-headers-')`,
  );
  return { packages: versions.trim().split('\n'), holds: held.trim().split('\n') };
}

/** The same commands by hand: one login for each host, all at once. */
function byHand({ lab }: BenchFleet, { folder, packages }: Captured): Program {
  const script = readFileSync(join(import.meta.dirname, 'peers/by-hand.sh'), 'utf8');
  const logins = lab.hosts.map((host) => {
    const own = packages[host.name];
    const remote = join(folder, `${host.name}.sh`);
    // The script is the command, because standard input has the files.
    writeFileSync(
      remote,
      sh`packages=${own?.packages.join(' ') ?? ''} holds=${own?.holds.join(' ') ?? ''}
${new Raw(script)}`,
    );
    const files = sh`cat ${join(folder, 'opt.tar.gz')} ${join(folder, `${host.name}.tar.gz`)}`;
    const ssh = sh`ssh ${host.sshArguments()} "$(cat ${remote})" >${`${remote}.log`} 2>&1`;
    return `{ ${files} | ${ssh} || { tail -5 ${remote}.log >&2; exit 1; }; } & all="$all $!"`;
  });
  const wait = 'for each in $all; do wait "$each" || exit 1; done';
  return { command: ['bash', '-c', ['all=', ...logins, wait].join('\n')] };
}

/** The playbook on these hosts, with the files that azp-fleet has written. */
class Playbook {
  readonly #hosts: Hosts;
  readonly #files: Captured;

  constructor({ lab }: BenchFleet, files: Captured) {
    this.#hosts = hostsOf(lab);
    this.#files = files;
  }

  play({ probe = false } = {}): Program {
    const { folder, packages, current } = this.#files;
    const vars = { files: folder, current, probe };
    return ansible(this.#hosts, ['ansible-playbook', 'site.yml', '-e', JSON.stringify(vars)], packages);
  }

  adHoc(...args: readonly string[]): Program {
    return ansible(this.#hosts, ['ansible', 'all', ...args]);
  }

  get hosts(): Hosts {
    return this.#hosts;
  }
}

function hostsOf(lab: Lab): Hosts {
  return {
    folder: mkdtempSync(join(lab.folder, 'p')),
    addresses: Object.fromEntries(lab.hosts.map(({ name, address }) => [name, address])),
    user: 'root',
    port: 22,
    key: lab.key,
    knownHosts: lab.knownHosts,
  };
}

/** A run that found something to change was not the run that is measured. */
async function nothingChanged(program: Program, sign: RegExp): Promise<Taken> {
  const taken = await timed(program);
  const failure = taken.failure ?? (sign.test(taken.stdout) ? undefined : `it changed: ${taken.stdout}`);
  return failure === undefined ? taken : { ...taken, failure };
}

const ansibleUnchanged = /^(?!.*changed=[1-9])/su;

async function unchanged({ cli }: BenchFleet, peer: Playbook, rounds: number): Promise<Results> {
  const none = /^\d+ hosts: .* · no changes$/mu;
  return interleaved(
    {
      'unchanged: azp-fleet': () => nothingChanged(cli(['provision', '--yes', '--no-probe']), none),
      'unchanged: Ansible': () => nothingChanged(peer.play(), ansibleUnchanged),
      'unchanged, probe: azp-fleet': () => nothingChanged(cli(['provision', '--yes']), none),
      'unchanged, probe: Ansible': () => nothingChanged(peer.play({ probe: true }), ansibleUnchanged),
    },
    rounds,
  );
}

/** manager.json gets one more blank line, so that it is written again and the manager restarts. */
async function changed({ lab, cli }: BenchFleet, peer: Playbook, rounds: number): Promise<Results> {
  const after = (program: () => Program) => async (): Promise<Taken> => {
    await Promise.all(lab.hosts.map((host) => host.exec(`echo >>${HostPaths.config}`)));
    return timed(program());
  };
  return interleaved(
    {
      'one file: azp-fleet': after(() => cli(['provision', '--yes', '--no-probe'])),
      'one file: Ansible': after(() => peer.play()),
    },
    rounds,
  );
}

async function others({ lab, cli }: BenchFleet, peer: Playbook, rounds: number): Promise<Results> {
  const script = join(lab.folder, 'facts.sh');
  writeFileSync(script, factScript({ root: machineRoot }));
  const bare = bareClient(peer.hosts, script);
  const cold = (verb: string): Program =>
    cli([verb], { NODE_COMPILE_CACHE: mkdtempSync(join(lab.folder, 'cache-')) });
  const programs = execPrograms(peer.hosts, 'true');
  const by = Object.entries(programs).map(
    ([name, program]) => [`exec: ${name}`, () => timed(program)] as const,
  );
  return interleaved(
    {
      plan: () => timed(cli(['plan'])),
      'plan, cold cache': () => timed(cold('plan')),
      status: () => timed(cli(['status'])),
      'status, cold cache': () => timed(cold('status')),
      'facts: bare ssh2': () => timed(bare),
      'facts: Ansible': () => timed(peer.adHoc('-m', 'setup')),
      'exec: azp-fleet': () => timed(cli(['exec', '--', 'true'])),
      'exec: Ansible': () => timed(peer.adHoc('-m', 'raw', '-a', 'true')),
      ...Object.fromEntries(by),
    },
    rounds,
  );
}

/** Milliseconds of a host's CPU for one `plan` beyond one `exec -- true`, each as the mean of some runs. */
async function hostCpu({ lab, cli }: BenchFleet, rounds: number): Promise<readonly number[]> {
  const [host] = lab.hosts;
  if (host === undefined) return [];
  const used = await cpuCounter(host);
  const times = 5;
  const spent = async (program: Program): Promise<number> => {
    const before = used();
    for (let time = 0; time < times; time += 1) await done(program);
    return (used() - before) / times;
  };
  const values: number[] = [];
  for (let round = 0; round < rounds; round += 1)
    values.push(
      (await spent(cli(['plan', host.name]))) - (await spent(cli(['exec', host.name, '--', 'true']))),
    );
  return values;
}

/** Returns what reads the milliseconds of CPU that a host has used, from the kernel's accounting of its container. */
async function cpuCounter({ container }: LabHost): Promise<() => number> {
  const { stdout } = await docker(['inspect', '--format', '{{.State.Pid}} {{.Id}}', container]);
  const [pid = '', id = ''] = stdout.trim().split(' ');
  const lines = readFileSync(`/proc/${pid}/cgroup`, 'utf8').trim().split('\n');
  const [, controllers = '', path = ''] =
    lines.map((line) => line.split(':')).find(([, names = '']) => /(?:^|,)cpuacct(?:,|$)/u.test(names)) ??
    lines.map((line) => line.split(':')).find(([number]) => number === '0') ??
    [];
  const own = path.slice(0, path.indexOf(id) + id.length);
  return controllers === ''
    ? () =>
        Number(/usage_usec (\d+)/u.exec(readFileSync(`/sys/fs/cgroup${own}/cpu.stat`, 'utf8'))?.[1]) / 1000
    : () => Number(readFileSync(`/sys/fs/cgroup/${controllers}${own}/cpuacct.usage`, 'utf8')) / 1e6;
}

interface OnHosts {
  readonly cpuMs: readonly number[];
  readonly scriptsS: readonly number[];
}

function record(rounds: number, results: Results, { cpuMs, scriptsS }: OnHosts, beside: string): void {
  const freshS = walls(results['fresh: azp-fleet'] ?? []);
  const seconds = (name: string) => walls(results[name] ?? []);
  const over = (a: string, b: string) => ratios(seconds(a), seconds(b));
  const execs = Object.keys(results)
    .filter((name) => name.startsWith('exec: ') && name !== 'exec: azp-fleet')
    .map((name): [string, readonly number[]] => [
      `hosts.exec-${name.slice('exec: '.length).replace(' ', '-').toLowerCase()}`,
      over(name, 'exec: azp-fleet'),
    ]);
  const rows = {
    'hosts.converged': over('unchanged: Ansible', 'unchanged: azp-fleet'),
    'hosts.probed': over('unchanged: Ansible', 'unchanged, probe: azp-fleet'),
    'hosts.probed-both': over('unchanged, probe: Ansible', 'unchanged, probe: azp-fleet'),
    'hosts.changed': over('one file: Ansible', 'one file: azp-fleet'),
    'hosts.fresh': over('fresh: Ansible', 'fresh: azp-fleet'),
    'hosts.fresh-by-hand': over('fresh: azp-fleet', 'fresh: by hand'),
    'hosts.fresh-scripts': ratios(freshS, scriptsS),
    'hosts.fresh-beyond-s': freshS.map((wallS, index) => wallS - (scriptsS[index] ?? 0)),
    'hosts.facts-bare': over('plan', 'facts: bare ssh2'),
    'hosts.facts-ansible': over('facts: Ansible', 'plan'),
    ...Object.fromEntries(execs),
    'hosts.converged-s': seconds('unchanged: azp-fleet'),
    'hosts.probed-s': seconds('unchanged, probe: azp-fleet'),
    'hosts.status-s': seconds('status'),
    'hosts.plan-s': seconds('plan'),
    'hosts.first-plan-s': seconds('plan, cold cache'),
    'hosts.first-status-s': seconds('status, cold cache'),
    'hosts.cpu-ms': cpuMs,
  };
  const lines = Object.entries(results).map(([name, taken]) => {
    const { median, least, most } = spread(walls(taken));
    const cpu = spread(cpus(taken)).median.toFixed(2);
    return [name, taken.length, median.toFixed(2), `${least.toFixed(2)} to ${most.toFixed(2)}`, cpu];
  });
  recordResults(
    'hosts',
    `three bare machines of the lab with Debian 12, a root login and one stand-in GPU each; ${rounds} rounds in turns`,
    `${table(['what', 'rounds', 'wall s', 'spread', 'client CPU s'], lines)}

CPU of a host for one \`plan\` beyond an \`exec -- true\`: ${figure(spread(cpuMs).median, 'ms')}.`,
    { beside, rows: Object.fromEntries(Object.entries(rows).filter(([, values]) => values.length > 0)) },
  );
}
