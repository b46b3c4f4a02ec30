import { valueOf } from '../../shared/base/reading.ts';
import { quote } from '../../shared/base/shell.ts';
import { drainEnd, drainLine } from '../../shared/contract/drain.ts';
import type { ManagerStatus } from '../../shared/contract/status.ts';
import { imageOverall } from '../../shared/contract/status.ts';
import type { Code } from '../../shared/base/codes/code.ts';
import { shortGpu } from '../../shared/health/checkup.ts';
import { withHost } from '../../shared/health/findings.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import type { Facts, GatheredFacts } from '../facts/facts.ts';
import {
  dockerVersion,
  installedManager,
  loadedDriver,
  reading,
  seenForProbe,
  statusOf,
  toolkitVersion,
  unreadNext,
  unreadOf,
} from '../facts/unread.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { platformOf, unsupported } from '../packages/distribution.ts';
import type { FleetChange } from '../plan/pools.ts';
import { usesCdi } from '../steps/docker/daemon-json.ts';
import { ageText } from '../verdict/sources.ts';
import type { HostRung, HostSeen, PoolSeen } from './host-seen.ts';
import { failedRung } from './connection.ts';
import {
  type Broken,
  type Check,
  broken,
  brokenBy,
  climb,
  ok,
  type Rung,
  type RungResult,
  skipped,
  unknown,
} from './ladder.ts';

const gib = 1024 ** 3;
/** The manager starts no agent below 10 GiB. */
const leastFree = 10 * gib;

/** A rung, before its findings are added: a finding that fails breaks it. */
interface Own extends Omit<Rung<HostRung, HostSeen>, 'id'> {
  /** Also findings that only inform or warn break it. */
  readonly isStrict?: true;
}

const connecting = (title: string, ...dependsOn: readonly HostRung[]): Own => ({
  title,
  dependsOn,
  check: () => ok(),
});

const checks: Readonly<Record<HostRung, Own>> = {
  settings: connecting('SSH settings'),
  dns: connecting('DNS', 'settings'),
  port: connecting('port', 'dns'),
  'host-key': connecting('host key', 'port'),
  login: connecting('login', 'host-key'),
  sudo: connecting('sudo', 'login'),
  facts: { title: 'facts', dependsOn: ['sudo'], check: () => ok() },
  os: {
    title: 'OS',
    dependsOn: ['facts'],
    check: ofFacts((facts) => {
      if (platformOf(facts) === undefined)
        return broken({ code: 'setup.unsupported', ...unsupported(facts) });
      if (facts.systemd === undefined)
        return broken({
          code: 'setup.no-systemd',
          what: 'systemd is missing; the manager needs it',
          next: 'use a physical or virtual machine that boots with systemd, not a container',
        });
      return ok(facts.os.pretty);
    }),
  },
  clock: {
    title: 'clock',
    dependsOn: ['os'],
    isStrict: true,
    check: ofFacts(({ time }) =>
      time === undefined
        ? unknown('the host did not report its time')
        : ok('as that of this machine, within 5 min'),
    ),
  },
  disk: { title: 'disk', dependsOn: ['os'], check: ofFacts(checkDisk) },
  driver: {
    title: 'driver',
    dependsOn: ['os'],
    check: ofFacts((facts) => {
      const read = reading(facts, 'gpus');
      if (read.kind === 'unknown') return unread(read);
      if (read.value.gpus.length === 0) return skipped(noGpu);
      const loaded = loadedDriver(facts);
      if (loaded.kind === 'unknown') return unread(loaded);
      return loaded.value === undefined ? unknown('no kernel module is loaded') : ok(loaded.value);
    }),
  },
  docker: {
    title: 'Docker',
    dependsOn: ['os'],
    check: ofFacts((facts) => {
      const [seen, version] = [seenForProbe(facts), dockerVersion(facts)];
      for (const read of [seen, version]) if (read.kind === 'unknown') return unread(read);
      const running = valueOf(seen)?.dockerRuns === true ? valueOf(version) : undefined;
      return running === undefined ? unknown('no Docker Engine reported its version') : ok(running);
    }),
  },
  toolkit: { title: 'toolkit', dependsOn: ['driver', 'docker'], check: ofFacts(checkToolkit) },
  probe: {
    title: 'probe',
    dependsOn: ['toolkit'],
    check: ({ observation: { probe, facts }, isProbeOff }) => {
      if (isProbeOff) return skipped('not checked: --no-probe');
      if (probe !== undefined)
        return probe.report === undefined ? skipped(noGpu) : ok(gpusText(probe.report.gpus.length));
      const missing = facts === undefined ? [] : unreadOf(facts, 'docker', 'gpus');
      return unknown('no container was started', missing.length === 0 ? undefined : unreadNext(missing));
    },
  },
  manager: { title: 'manager', dependsOn: ['os'], check: ofFacts(checkManager) },
  azure: {
    title: 'Azure DevOps from the host',
    dependsOn: ['manager'],
    check: ofStatus(({ connection }) => {
      if (connection === undefined) return skipped('not checked: its manager does not test the connection');
      const { why, to } = connection;
      return why === undefined ? ok(to) : unknown(`the last test failed: ${why}`);
    }),
  },
  'host-token': {
    title: 'token on the host',
    dependsOn: ['azure'],
    check: ofStatus(({ pools, problems }) => {
      // It was accepted where the server says that a pool is missing.
      const isMissing = problems.some(({ code }) => code === 'pool.missing');
      const down = isMissing ? [] : pools.filter(({ up }) => !up).map(({ name }) => name);
      return down.length === 0 ? ok('accepted') : unknown(`its manager has not read pool ${down.join(', ')}`);
    }),
  },
  pool: {
    title: 'pool',
    dependsOn: ['token'],
    check: ofPools((pools) => ok(pools.map(({ name }) => name).join(', ')), {
      'create-pool': ({ pool }) => ({
        code: 'azure.pool-missing',
        what: `agent pool ${pool} does not exist`,
        next: `run \`azp-fleet pool create ${quote(pool)}\``,
        fix: 'provision',
      }),
      'disable-auto-update': ({ pool }) => ({
        code: 'azure.auto-update',
        what: `pool ${pool} updates its agents: an agent for one job would update itself instead of running it`,
        next: `run \`azp-fleet pool authorize ${quote(pool)}\``,
        fix: 'provision',
      }),
    }),
  },
  queue: {
    title: 'project queue',
    dependsOn: ['pool'],
    check: ofPools(ofProjects, {
      'create-queue': ({ pool, project }) => ({
        code: 'azure.queue-missing',
        what: `project ${project} has no queue of pool ${pool}`,
        next: `run \`azp-fleet pool authorize ${quote(pool)}\``,
        fix: 'provision',
      }),
    }),
  },
  permission: {
    title: 'permission',
    dependsOn: ['queue'],
    check: ofPools(ofProjects, {
      'authorize-queue': ({ pool, project }) => ({
        code: 'azure.queue-closed',
        what: `pipelines of project ${project} may not use pool ${pool}: each waits for a permission`,
        next: `run \`azp-fleet pool authorize ${quote(pool)}\``,
        fix: 'provision',
      }),
    }),
  },
  image: {
    title: 'image',
    dependsOn: ['docker', 'manager'],
    check: ofStatus((status) => {
      const { state, progress, reference } = imageOverall(status);
      if (state === 'ready') return ok(reference);
      const doing = {
        missing: 'is missing',
        pulling: 'is being pulled',
        building: 'is being built',
        failed: 'failed',
      };
      return unknown(`it ${doing[state]}${progress === undefined ? '' : ` (${progress})`}`, 'wait for it');
    }),
  },
  dataset: {
    title: 'dataset',
    dependsOn: ['manager'],
    check: ({ host: { datasets } }) =>
      datasets.length === 0
        ? skipped('not checked: the inventory has none')
        : ok(datasets.map(({ name }) => name).join(', ')),
  },
  agents: {
    title: 'agents',
    dependsOn: ['clock', 'probe', 'host-token', 'pool', 'image', 'dataset', 'disk'],
    check: checkAgents,
  },
};

/** The rungs of a host, in their order. */
export const hostRungs: readonly Rung<HostRung, HostSeen>[] = Object.entries(checks).map(([key, own]) => {
  const id = key as HostRung;
  return { id, title: own.title, dependsOn: own.dependsOn, check: (seen) => withFindings(id, own, seen) };
});

/** Returns the ladder of a host above that of this machine. Pure. */
export function climbHost(seen: HostSeen, machine: readonly RungResult[]): readonly RungResult[] {
  return climb(hostRungs, seen, machine);
}

function withFindings(id: HostRung, { isStrict, check }: Own, seen: HostSeen): Check {
  const { problem } = seen.observation;
  if (problem !== undefined) {
    const failed = failedRung(seen.observation, problem);
    if (failed.rung === id) return fixable(seen.host, brokenBy(problem));
    if (failed.skips.includes(id)) return skipped('not checked: the connection goes through another host');
  }
  const found = seen.findings.get(id) ?? [];
  // A part of the facts is missing: the rungs that need it are unknown.
  const worst =
    id === 'facts'
      ? undefined
      : (found.find(({ severity }) => severity === 'fail') ?? (isStrict && found[0]));
  if (worst) return fixable(seen.host, ofFinding(worst));
  const findings = found.filter(({ severity }) => severity !== 'info');
  const result = check(seen);
  // What is unknown says so itself.
  return findings.length === 0 || result.state === 'unknown' ? result : { ...result, findings };
}

function ofFinding({ code, what, next, gpu }: Finding): Broken {
  return { code, what: gpu === undefined ? what : `${shortGpu(gpu)}: ${what}`, next };
}

/** Problems that `provision` fixes, too, although their next action is another one. */
const alsoFixed: ReadonlySet<Code> = new Set<Code>([
  'docker.down',
  'driver.mismatch',
  'engine.cdi-stale',
  'image.failed',
  'manager.down',
]);

/** Tells whether the inventory leaves this part of the host alone. */
function isLeft(code: Code, { driver, docker, toolkit }: HostSpec): boolean {
  if (/^(?:driver|smi)\./.test(code)) return !driver.install;
  if (code.startsWith('docker.')) return docker.left === true;
  return /^toolkit\.|^engine\.(?:cdi-stale|no-gpu-driver)$/.test(code) && toolkit.left === true;
}

const provision = /^run [`"]azp-fleet provision[`"]/;

/** Marks what `provision` of this host fixes, and names the command; what else to do follows it. */
function fixable(host: HostSpec, problem: Broken): Check {
  const named = withHost(problem, host.name);
  const isProvision = provision.test(named.next);
  if ((!isProvision && !alsoFixed.has(named.code)) || isLeft(named.code, host)) return broken(named);
  const command = `run \`azp-fleet provision ${host.name}\``;
  const next = isProvision
    ? named.next.replace(provision, command)
    : `${command}; if that does not help, ${named.next}`;
  return broken({ ...named, next, fix: 'provision' });
}

function ofFacts(check: (facts: GatheredFacts, seen: HostSeen) => Check) {
  return (seen: HostSeen): Check => {
    const { facts } = seen.observation;
    return facts === undefined ? unknown('the host was not read') : check(facts, seen);
  };
}

function ofStatus(check: (status: ManagerStatus) => Check) {
  return ({ status }: HostSeen): Check =>
    status === undefined ? unknown('its manager has not reported') : check(status);
}

function unread({ why, unread: facts }: { why: string; unread: Parameters<typeof unreadNext>[0] }): Check {
  return unknown(why, unreadNext(facts));
}

function checkDisk(facts: GatheredFacts, { status }: HostSeen): Check {
  const read = reading(facts, 'disk', 'containerdRoot');
  if (read.kind === 'unknown') return unread(read);
  const { disk, containerdRoot } = read.value;
  const docker = valueOf(reading(facts, 'docker'))?.docker;
  const folder = docker?.byContainerd === true ? containerdRoot : (docker?.rootDir ?? '/var/lib/docker');
  const space = volumeOf(disk, folder);
  if (space === undefined) return unknown('df shows no file system');
  const free = `${(space.freeBytes / gib).toFixed(1)} GiB free on ${space.mount}`;
  // A manager knows the size of the disk, too, and reports one that is full.
  if (status !== undefined || space.freeBytes >= leastFree) return ok(free);
  return broken({
    code: 'disk.full',
    what: `the disk of Docker (${folder}) is nearly full: ${free}`,
    expected: `${leastFree / gib} GiB free`,
    next: `free space on the host: sudo du -xh -d 2 ${space.mount} | sort -h | tail`,
  });
}

/** Returns the file system of a folder: of one above it, if it does not exist yet. */
function volumeOf(disk: Facts['disk'], folder: string): Facts['disk'][string] | undefined {
  return disk[folder] ?? (folder === '/' ? undefined : volumeOf(disk, folder.replace(/\/[^/]*$/, '') || '/'));
}

const noGpu = 'not checked: the host has no NVIDIA GPU';

function checkToolkit(facts: GatheredFacts, { host }: HostSeen): Check {
  const read = reading(facts, 'gpus', 'toolkit');
  if (read.kind === 'unknown') return unread(read);
  const { gpus, toolkit } = read.value;
  if (gpus.length === 0) return skipped(noGpu);
  const stale = staleSpecification(toolkit, valueOf(loadedDriver(facts)), host);
  if (stale !== undefined)
    return fixable(host, {
      code: 'engine.cdi-stale',
      what: stale,
      next: 'run `systemctl restart nvidia-cdi-refresh.service` on the host',
    });
  const version = valueOf(toolkitVersion(facts)) ?? 'installed without a package';
  return ok(toolkit.cdiSpec ? `${version}, CDI specification of this driver` : version);
}

/** Returns why containers get no GPU, or the libraries of another driver, by the CDI specification. */
function staleSpecification(
  { cdiSpec, cdiDriver, cdiMigDiffers }: Facts['toolkit'],
  loaded: string | undefined,
  { docker }: HostSpec,
): string | undefined {
  if (!cdiSpec) return usesCdi(docker.version) ? 'no CDI specification describes the GPUs' : undefined;
  if (cdiDriver !== undefined && cdiDriver !== loaded)
    return `the CDI specification is for driver ${cdiDriver}, and ${loaded ?? 'none'} is loaded`;
  return cdiMigDiffers ? 'the CDI specification does not match the present MIG instances' : undefined;
}

function gpusText(count: number): string {
  return `${count} ${count === 1 ? 'GPU' : 'GPUs'} in a container`;
}

function checkManager(facts: GatheredFacts, { status, now }: HostSeen): Check {
  for (const read of [installedManager(facts), statusOf(facts)] as const)
    if (read.kind === 'unknown') return unread(read);
  if (status === undefined) return unknown('its manager has not reported');
  return ok(`${status.version}, report ${ageText(Math.max(0, (now - Date.parse(status.at)) / 1000))} old`);
}

type Action = FleetChange['action'];
type ActionOf<Kind> = Extract<Action, { readonly kind: Kind }>;
/** What a change of a pool means for a rung. */
type Meanings = { readonly [Kind in Action['kind']]?: (action: ActionOf<Kind>) => Broken };

/** Checks the pools of a host: a change that is missing breaks the rung. */
function ofPools(intact: (pools: readonly PoolSeen[], seen: HostSeen) => Check, meanings: Meanings) {
  return (seen: HostSeen): Check => {
    const { pools } = seen;
    if (pools === undefined) return unknown('Azure DevOps was not asked');
    if (pools.length === 0) return unknown('its name depends on facts of the host, which were not read');
    const [problem] = pools.flatMap((pool) => pool.problem ?? []);
    if (problem !== undefined) return unknown(problem.what, problem.next);
    const actions = pools.flatMap(({ changes }) => changes.map(({ action }) => action));
    const [found] = actions.flatMap((action) => {
      const meaning = meanings[action.kind] as ((action: Action) => Broken) | undefined;
      return meaning === undefined ? [] : [meaning(action)];
    });
    return found === undefined ? intact(pools, seen) : broken(found);
  };
}

/** Returns the check of what the projects of the inventory have. */
function ofProjects(pools: readonly PoolSeen[], { projects }: HostSeen): Check {
  if (projects.length === 0) return skipped('not checked: the inventory has no projects');
  const [problem] = pools.flatMap(({ projectProblem }) => projectProblem ?? []);
  return problem === undefined ? ok(projects.join(', ')) : broken(brokenBy(problem));
}

function checkAgents({ host, status, agentsIn }: HostSeen): Check {
  if (status === undefined) return unknown('its manager has not reported');
  const { slots, drains } = status;
  const [drain] = drains.filter(({ run }) => run === undefined);
  const open = slots.filter(({ state }) => state !== 'drained');
  if (open.length === 0 && drain !== undefined)
    return skipped(`not checked: ${drainLine(drain)}`, drainEnd(drain, host.name));
  const unlisted = open.find(({ pool }) => agentsIn(pool) === undefined);
  if (unlisted !== undefined) return unknown(`the agents of pool ${unlisted.pool} were not read`);
  const ready = open.filter(({ state }) => state === 'idle' || state === 'busy').length;
  const seen = `${ready} of ${slots.length} idle or busy${drain === undefined ? '' : `; ${drainLine(drain)}`}`;
  return ready === 0 ? unknown(`${seen}: they are starting`, 'wait a minute, and run it again') : ok(seen);
}
