import { setTimeout as delay } from 'node:timers/promises';

import type { FakeJob } from '../../practice/azure/control/control.ts';
import type { QueueJobs } from '../../practice/azure/control/types.ts';
import type { Lab } from '../../practice/lab/lab.ts';
import type { Disturbance } from './faults.ts';
import { crashes, leftOver, sessionConflicts, tokenPlaces } from './aftermath.ts';
import type { Attacked, Attacker } from './attackers.ts';
import { hostileJob } from './hostile.ts';
import { slotsBack, statusOf } from './hosts.ts';
import { violations } from './invariants.ts';
import type { RunRecord, FaultRecord, SoakFleet } from './model.ts';
import { Observer } from './observe.ts';
import { Thief } from './thief.ts';

export interface Soak {
  readonly record: RunRecord;
  /** Number of attempts with copied keys of ended jobs. */
  readonly attempts: number;
  /** Violations, in words. */
  readonly violations: readonly string[];
  readonly slots: number;
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
}

/** Moments to some seconds of work, in a container or home that no other job has seen, on GPUs without another process. */
export const script = `
[ ! -e "$HOME/left-behind" ] || exit 9
touch "$HOME/left-behind"
echo "container $(sed -n 's|.*/containers/\\([0-9a-f]\\{64\\}\\).*|\\1|p' /proc/self/mountinfo | head -n 1)"
echo "gpu $(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | sort -n | tail -n 1)"
env
sleep $((RANDOM % 4)).$((RANDOM % 10))
`;

/**
 * Keeps more jobs waiting than there are slots, disturbs the fleet again and again, and judges what the server and the
 * hosts have recorded. At least `jobs` jobs; more when the disturbances need longer. With `isHostile` every tenth job
 * attacks the others: the hosts then need small disks. `attackers` attack until the last disturbance is over.
 */
export async function soak(
  fleet: SoakFleet,
  disturbances: readonly Disturbance[],
  jobs: number,
  say: (line: string) => void,
  {
    isHostile = false,
    attackers = [],
  }: { readonly isHostile?: boolean; readonly attackers?: readonly Attacker[] } = {},
): Promise<Soak> {
  const { lab, azure } = fleet;
  await slotsBack(lab.hosts, 0, 120_000);
  const hostOf = await agents(lab);
  const observer = new Observer(lab.hosts);
  const queue = new Queue(fleet, Math.max(6, 2 * hostOf.size), isHostile);
  let isDisturbed = false;
  let delaying = 0;
  const thief = new Thief(
    () => queue.jobs,
    () => !isDisturbed && delaying === 0,
  );
  const over = new AbortController();
  const attacked: Attacked = {
    signal: over.signal,
    jobs: () => queue.jobs,
    queue: (each) => queue.add(each),
    delayingKeys: (work) => {
      delaying += 1;
      return work().finally(() => (delaying -= 1));
    },
  };
  const pausesMs = Math.max(0, ...attackers.map((each) => each.pausesMs ?? 0));
  const delayed = disturbances.map((each) => ({ ...each, boundMs: each.boundMs + pausesMs }));
  const from = Date.now();
  let faults: readonly FaultRecord[];
  let attacks: readonly (readonly [string, number])[];
  try {
    const during = (keysEnd: boolean): void => void (isDisturbed = !keysEnd);
    const attack = Promise.all(attackers.map(async (each) => [each.name, await each.run(attacked)] as const));
    const trouble = async () => {
      try {
        return await disturb(delayed, queue, jobs, say, during);
      } finally {
        over.abort();
        await attack;
        queue.noMoreAfter(jobs);
      }
    };
    [attacks, faults] = await Promise.all([attack, trouble(), queue.run(jobs)]);
    say(`${queue.jobs.length} jobs have come to an end`);
    // The server's last nonsense may have asked for a pause, and a start that failed in it is tried again after it.
    await slotsBack(lab.hosts, Date.now(), 600_000);
  } finally {
    over.abort();
    queue.stop();
    await Promise.all([observer.close(), thief.stop()]);
  }
  const to = Date.now();
  const record: RunRecord = {
    jobs: queue.jobs,
    faults,
    events: observer.events,
    hostOf,
    quarantines: [...observer.quarantines],
    sessionConflicts: await sessionConflicts(azure.control, from),
    leftOver: await leftOver(lab.hosts),
    tokens: await tokenPlaces(lab.hosts, azure.token, queue.jobs),
    loot: [...thief.loot],
    crashes: await crashes(lab.hosts),
    memoryMiB: observer.memoryMiB,
    attacks: new Map(attacks),
    ...(fleet.hostPool === undefined ? {} : { hostPool: fleet.hostPool }),
  };
  return {
    record,
    violations: violations(record),
    attempts: thief.attempts,
    slots: hostOf.size,
    from,
    to,
  };
}

/** One disturbance after the other, evenly over the jobs; the next one once all slots are back from the last. */
async function disturb(
  disturbances: readonly Disturbance[],
  queue: Queue,
  jobs: number,
  say: (line: string) => void,
  during: (keysEnd: boolean) => void,
): Promise<readonly FaultRecord[]> {
  const records: FaultRecord[] = [];
  for (const [index, disturbance] of disturbances.entries()) {
    const { name, hosts, cutsJobs, boundMs } = disturbance;
    await queue.done((jobs * (index + 1)) / (disturbances.length + 1));
    const from = Date.now();
    during(disturbance.keysEnd === true);
    const took = (await disturbance.run()) ?? {};
    const over = Date.now();
    // Late is a failure that the verdict reports; the soak continues.
    await slotsBack(hosts, over, 2 * boundMs).catch((error: unknown) => say(String(error)));
    const recovered = Date.now();
    during(true);
    const names = hosts.map((host) => host.name);
    records.push({
      name,
      hosts: names,
      cutsJobs: cutsJobs === true,
      from,
      over,
      recovered,
      boundMs,
      ...took,
    });
    const seconds = (ms: number): string => (ms / 1000).toFixed(1);
    say(`${name}: ${seconds(over - from)} s, all slots back ${seconds(recovered - over)} s later`);
  }
  return records;
}

async function agents(lab: Lab): Promise<ReadonlyMap<string, string>> {
  const statuses = await Promise.all(
    lab.hosts.map(async (host) => ({ host: host.name, slots: (await statusOf(host))?.slots ?? [] })),
  );
  return new Map(statuses.flatMap(({ host, slots }) => slots.map(({ agent }) => [agent, host])));
}

/** Jobs in the pool's queue: never fewer waiting than `waiting`, until there are enough. */
class Queue {
  jobs: readonly FakeJob[] = [];
  readonly #fleet: SoakFleet;
  readonly #waiting: number;
  readonly #isHostile: boolean;
  readonly #ids = new Set<number>();
  /** Jobs that are not an attacker's. */
  #numbered = 0;
  readonly #stop = new AbortController();
  #enough = Number.POSITIVE_INFINITY;

  constructor(fleet: SoakFleet, waiting: number, isHostile: boolean) {
    this.#fleet = fleet;
    this.#isHostile = isHostile;
    this.#waiting = waiting;
  }

  /** Resolves when enough jobs were queued and all have ended. */
  async run(atLeast: number): Promise<void> {
    const { control } = this.#fleet.azure;
    const { signal } = this.#stop;
    let quiet = Date.now();
    for (let ended = 0; !signal.aborted;) {
      this.jobs = (await control.jobs()).filter(({ id }) => this.#ids.has(id));
      const count = this.#ended();
      if (count > ended) quiet = Date.now();
      ended = count;
      if (ended === this.#ids.size && ended >= Math.max(atLeast, this.#enough)) return;
      if (Date.now() - quiet > 240_000)
        throw new Error(`no job has ended for 4 minutes: ${ended} so far; ${await this.#seen()}`);
      await this.#supply();
      await delay(700, undefined, { signal }).catch(() => undefined);
    }
  }

  /** What the server and the managers say. */
  async #seen(): Promise<string> {
    const jobs = this.jobs.filter(({ state }) => state !== 'done');
    const statuses = await Promise.all(this.#fleet.lab.hosts.map((host) => statusOf(host)));
    const slots = statuses.map((status) =>
      status?.slots.map(({ slot, state, code, cause, job }) => ({ slot, state, code, cause, job })),
    );
    const open = jobs.map(({ id, name, state, runs }) => ({ id, name, state, agent: runs.at(-1)?.agent }));
    return JSON.stringify({ open, slots, problems: statuses.map((status) => status?.problems) });
  }

  /** Resolves when so many jobs have ended; rejects when the soak is given up. */
  async done(count: number): Promise<void> {
    while (this.#ended() < count) await delay(200, undefined, { signal: this.#stop.signal });
  }

  /** Queues a job of an attacker, or jobs. */
  async add(job: QueueJobs): Promise<void> {
    for (const { id } of await this.#fleet.azure.control.queue(job)) this.#ids.add(id);
  }

  noMoreAfter(count: number): void {
    this.#enough = count;
  }

  stop(): void {
    this.#stop.abort();
  }

  async #supply(): Promise<void> {
    const { pool } = this.#fleet;
    const waiting = this.jobs.filter((job) => job.pool === pool && job.state === 'waiting').length;
    const count = Math.min(this.#waiting - waiting, this.#enough - this.#ids.size);
    for (let left = count; left > 0; left -= 1) {
      this.#numbered += 1;
      const number = this.#numbered;
      const ordinary = { name: `soak-${number}`, script };
      const { name, script: deed } = (this.#isHostile ? hostileJob(number) : undefined) ?? ordinary;
      await this.add({ pool, name, script: deed });
    }
  }

  #ended(): number {
    return this.jobs.filter(({ state }) => state === 'done').length;
  }
}
