import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** The faults that tests cause, by id: the fault, and what happens. A test of one is declared by `fault(ID, …)`. */
export const faults = {
  'manager-killed': [
    'the manager is killed between any two effects',
    'the next manager finds container or unit, run and agent entry, and continues',
  ],
  'manager-stopped': [
    'SIGTERM, upgrade or restart of the manager',
    'containers and jobs continue; the next manager takes them over',
  ],
  'unit-not-noted': [
    'host mode: the manager is killed between `systemd-run` and its own note',
    'the agent counts as running and is followed',
  ],
  'systemd-silent': ['host mode: systemd does not answer', 'an unknown state counts as running'],
  'drained-agent-enabled': [
    'a drained agent is enabled by another user, or its owner capability is missing',
    'the agent is not stopped',
  ],
  'job-during-drain': ['a job is assigned while its agent is being drained', 'the job runs, once'],
  'job-fills-disk': [
    'a job fills the disk',
    'its container is removed, with or without a run record; the disk is free again',
  ],
  'state-not-written': [
    'the state file cannot be written',
    'the state is kept in memory, reported as `state.not-written`, and written as soon as possible',
  ],
  'renewal-not-written': [
    'the state file cannot be written while an agent entry must be created again',
    'the entry is not deleted: its values would be lost',
  ],
  'run-full': ['/run is full', 'agents and control socket continue; the status file returns'],
  'exit-unlisted': [
    'a container exits while the disk is full, and Docker lists it as running forever',
    'the manager inspects the container, collects it, and the slot serves again',
  ],
  'state-torn': ['manager.json is empty or torn', 'the previous copy is read; the damaged file is kept'],
  'state-deleted': ['manager.json is deleted', 'the previous copy is read; identity and drains stay'],
  'state-both-torn': [
    'neither copy can be read',
    'the manager does not start as a new installation; it reports what to do',
  ],
  'clock-set': [
    'the clock is set',
    'deadlines, pauses, watchdog and the order of run records are unaffected',
  ],
  'key-copied': [
    "a job copies its agent's key",
    'the key is invalid after the container ends, also on a drained slot',
  ],
  'slot-renamed': ['a slot is renamed while a job runs', 'the key of the running container stays valid'],
  'exited-at-start': ['the manager finds an exited container at its start', 'its key is replaced first'],
  'endless-output': [
    'a megabyte without a newline, or endless log markers',
    'lines are cut at 4 KiB; reads are paced',
  ],
  'forged-xid': ['a process name that looks like an XID', 'it is no XID'],
  'process-left': [
    'host mode: a process of a job outlives it',
    'no key is written before it exits; the slot names a process that does not exit',
  ],
  'fork-loop': [
    'host mode: a job leaves processes that fork and exit all the time',
    'none is running when the next agent gets its key',
  ],
  'rules-not-set': ['the metadata rules cannot be set', 'reported in the status, retried'],
  'other-network': [
    'a network named `azp-fleet` has other options',
    'reported; with `network: required` slots wait',
  ],
  'isolation-removed': [
    'the network isolation is removed where it is required',
    'idle agents stop, the running job ends, slots wait until it is back',
  ],
  'first-pass-fails': [
    'a new manager version crashes or hangs in its first pass',
    'it never reports ready, and the previous version returns',
  ],
  'down-at-start': [
    'Docker or Azure DevOps is unreachable when the manager starts',
    'the manager still reports ready',
  ],
  'not-the-image': ['an image fails because of the server', 'the image is not rolled back'],
  'second-manager': ['a second manager on the machine', 'it does not start, and names the first'],
  'others-containers': ['containers of another manager', 'they are neither stopped nor counted'],
  'container-hangs': [
    'an agent is done and its container hangs',
    'stopped after five minutes; if that fails, the slot reports it',
  ],
  'config-killed': ['the manager is killed while config.sh registers', 'it recognises the agent entry'],
  'docker-stopped': ['Docker is unreachable', 'slots with `mode: host` continue'],
  'docker-restarted': ['Docker restarts', 'the event stream is opened again, ended runs are collected'],
  'output-lost': ['Docker does not return a log', 'the container is removed without it'],
  'output-of-before': [
    'Docker does not return a log, and the run before had one',
    'the record has nothing of the run before',
  ],
  'endpoint-left': [
    'Docker keeps the network endpoint of a removed container',
    'the endpoint is freed, the slot continues',
  ],
  'dataset-removed': [
    'a dataset disappears between check and start',
    'reported by name; Docker creates no folder instead',
  ],
  'token-refused': [
    'the token is refused or replaced',
    'no agent starts, running agents continue; the new token is used within seconds',
  ],
  'token-older': ['the token is replaced by a file with an older time', 'the new token is used all the same'],
  'connection-lost': [
    'the connection to Azure DevOps is lost',
    '`azure.no-connection` within 82 s, in the status file at once; agents continue',
  ],
  throttled: ['throttled, no permission, server unreachable', 'no agent starts, running agents continue'],
  'pool-missing': ['the pool does not exist', 'only its own slots wait'],
  'large-pool': ['a pool with thousands of agents', 'the manager reads its own agents, in one call'],
  'name-held': ['another owner holds an agent name', 'the name is not taken over'],
  'adoption-refused': [
    '`adopt` of a name whose owner is online',
    'refused, and not done later when its owner is offline',
  ],
  'session-left': [
    'an agent was killed and left its session',
    'its entry is created again, or the slot reports how long it waits',
  ],
  'worker-killed': [
    'the worker was killed: the server still counts its job',
    'reported until the server gives up the job',
  ],
  'image-fails': ['a new image does not start', 'tried on one slot, then rolled back'],
  'dataset-hangs': [
    'a dataset is missing or its disk hangs',
    'the slot waits; no second check starts while one hangs',
  ],
  'nfs-hangs': [
    'an NFS server does not answer',
    'a finding names mount and server; the manager reads nothing there, and one child hangs at most',
  ],
  'smi-hangs': ['nvidia-smi hangs in the kernel', 'the slots are quarantined; no second nvidia-smi starts'],
  'gpu-fails': ['a GPU fails under a job', 'its slot is quarantined, the job continues to its end'],
  'gpu-taken': [
    'another process is on a GPU of the slot',
    'the slot waits and names it; it resumes when the GPU is free',
  ],
  'gpu-process-left': [
    'an ended run left a process on its GPU',
    'the process is killed; if it does not exit, the slot names it and waits',
  ],
  'unhandled-rejection': ['an unhandled rejection in the manager', 'logged and counted; jobs continue'],
  'uncaught-exception': [
    'an uncaught exception in the manager',
    'logged; the process exits and systemd restarts it; jobs continue',
  ],
  'log-unread': ['the log has no reader', 'counted; the manager continues'],
  'ctrl-c': ['Ctrl-C on a manager run by hand', 'idle agents stop, jobs end first'],
  'hostile-jobs': [
    'hostile jobs: a full disk, processes up to the limit, forged XIDs, a copied key, thousands of capabilities',
    'other jobs lose nothing',
  ],
  soak: [
    'managers and engines killed, the server failing, machines rebooted under load',
    'each job runs once',
  ],
} as const satisfies Readonly<Record<string, readonly [string, string]>>;

export type FaultId = keyof typeof faults;

/** A test that causes a fault. */
export interface FaultTest {
  readonly id: string;
  /** Path in the repository. */
  readonly file: string;
  readonly title: string;
}

const root = join(import.meta.dirname, '..');

/** Where a complete run of the unit tests leaves its passed tests of faults. */
export const passedFile = join(root, 'node_modules/.cache/faults.json');

/** Returns the tests that the long lab tests declare: a run of the unit tests has no results of them. */
export function labFaults(): readonly FaultTest[] {
  return globSync('test/lab/**/*.test.ts', { cwd: root }).flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\bfault\(\s*'([\w-]+)',\s*(['"])(.*?)\2/gs)].map(
      ([, id = '', , title = '']) => ({ id, file, title }),
    ),
  );
}

const written =
  /(<!-- Written by `npm run docs` from scripts\/faults-page\.ts and the last run of the unit tests\. -->\n)[\s\S]*?(<!-- Until here\. -->)/;

/** Returns docs/faults.md with a row for each fault, and its tests. Throws where a fault has none. Pure. */
export function withFaultTable(page: string, tests: readonly FaultTest[]): string {
  if (!written.test(page)) throw new Error('docs/faults.md has no markers around the table of faults');
  const byId = Map.groupBy(tests, ({ id }) => id);
  const missing = Object.keys(faults).filter((id) => !byId.has(id));
  if (missing.length > 0)
    throw new Error(
      `docs/faults.md: no test of these faults has passed: ${missing.join(', ')}; declare one by fault('ID', …)`,
    );
  const rows = Object.entries(faults).map(
    ([id, [what, happens]]) => `| ${what} | ${happens} | ${cell(byId.get(id) ?? [])} |`,
  );
  const table = ['| fault | what happens | test |', '| --- | --- | --- |', ...rows, ''].join('\n');
  return page.replace(written, (_, start: string, end: string) => `${start}\n${table}\n${end}`);
}

/** A test in a `describe.each` is listed once. */
function cell(tests: readonly FaultTest[]): string {
  const listed = new Set(tests.map(({ file, title }) => `[${basename(file)}](../${file})<br>“${title}”`));
  return [...listed].toSorted().join('<br>');
}
