import { setTimeout as delay } from 'node:timers/promises';

import type { FakeControl, FakeJob, Fault } from '../../practice/azure/control/control.ts';
import type { QueueJobs } from '../../practice/azure/control/types.ts';
import { longestPauseMs } from '../../src/shared/azure/http/limits.ts';
import type { LabHost } from '../../practice/lab/host.ts';
import { shortMs } from './faults.ts';
import { publishes } from './hostile.ts';
import { slotsBack } from './hosts.ts';
import type { SoakFleet } from './model.ts';

/** The running soak, for an attacker. */
export interface Attacked {
  /** Aborted after the last fault. */
  readonly signal: AbortSignal;
  /** Jobs of the soak so far. */
  readonly jobs: () => readonly FakeJob[];
  /** Queues jobs that are judged like the others. */
  readonly queue: (jobs: QueueJobs) => Promise<void>;
  /** Does what delays the replacement of keys: copied ones may work for so long. */
  readonly delayingKeys: (work: () => Promise<void>) => Promise<void>;
}

/** Attacks all the time, beside jobs and faults. */
export interface Attacker {
  readonly name: string;
  /** Milliseconds for which it may keep a manager from its server, beyond the attack. */
  readonly pausesMs?: number;
  /** Resolves with the number of attacks once the signal is aborted. */
  run(soak: Attacked): Promise<number>;
}

const metricsPort = 9417;

/**
 * Bash: opens connections to a port of loopback, sends half a request on each, prints `open`, and keeps them for some seconds.
 * A process may have 1024 of them.
 */
export function halfRequests(port: number, connections: number, seconds: number): string {
  return `trap '' PIPE
for n in $(seq ${connections}); do
  { exec {socket}<>/dev/tcp/127.0.0.1/${port} && printf 'GET /metrics HTTP/1.1\\r\\nx-half: ' >&"$socket"; } 2>/dev/null
done
echo open
exec sleep ${seconds}`;
}

/** An ordinary user of a host, at the port that is open to every user: 1,300 half-sent requests at a time. */
export function portAttacker(host: LabHost): Attacker {
  const asUser = 'setpriv --reuid=65534 --regid=65534 --clear-groups bash -s';
  return {
    name: `half-sent requests to the metrics port of ${host.name}`,
    run: ({ signal }) =>
      repeated(signal, 0, async () => {
        const input = halfRequests(metricsPort, 650, 5);
        // The host may be down.
        const attack = () => host.exec(asUser, { input, allowFailure: true });
        const [{ code }] = await Promise.all([attack(), attack()]);
        return code === 0;
      }),
  };
}

/** About 5 MB in the agent's entry. */
const manyCapabilities = 340_000;

/** Publishes capabilities with the keys of jobs that copied them: by the server's control, which has the same effect. */
export function capabilityPublisher(control: FakeControl): Attacker {
  const done = new Set<number>();
  return {
    name: 'capabilities published',
    run: ({ signal, jobs }) =>
      repeated(signal, 500, async () => {
        const job = jobs().find((each) => publishes(each) && each.state === 'running' && !done.has(each.id));
        const agent = job?.runs[0]?.agent;
        if (job === undefined || agent === undefined) return false;
        done.add(job.id);
        await control.publishCapabilities(agent, manyCapabilities);
        return true;
      }),
  };
}

/** Answers that no Azure DevOps gives. */
const nonsense: readonly Omit<Fault, 'count'>[] = [
  ...['999', '600', '700', '099', '101'].map((rawStatus) => ({ rawStatus })),
  { brokenJson: true },
  { retryAfterS: 86_400 },
];

/** Answers with nonsense, in turn, until the time is over or the signal is aborted. */
export async function answerNonsense(control: FakeControl, ms: number, signal: AbortSignal): Promise<void> {
  const end = Date.now() + ms;
  while (Date.now() < end && !signal.aborted) {
    for (const fault of nonsense) await control.fail({ ...fault, count: 1 });
    await delay(300, undefined, { signal }).catch(() => undefined);
  }
  // Managers that wait have not asked for all of it.
  await control.clearFaults();
}

/** A server that answers nonsense for 30 s, every two minutes. */
export function nonsenseServer({ azure, lab }: SoakFleet): Attacker {
  return {
    name: 'nonsense from the server for 30 s',
    pausesMs: longestPauseMs,
    run: ({ signal, delayingKeys }) =>
      repeated(signal, 120_000, async () => {
        await delayingKeys(async () => {
          await answerNonsense(azure.control, 30_000, signal);
          await slotsBack(lab.hosts, Date.now(), shortMs).catch(() => undefined);
        });
        return true;
      }),
  };
}

/**
 * Bash: leaves processes that fork for ever. Each lives for a moment, so that a list of them is out of date at once; few, because
 * the machine is not the target.
 */
const forks = `
env -i setsid bash -c 'chain() { sleep 0.02; chain & }; for n in 1 2 3 4 5 6 7 8; do chain & done' </dev/null >/dev/null 2>&1 &
sleep 1
exit 0
`;

/** Lists processes of `forks` on a host. A pattern that does not match its own command line. */
export const forksLeft = "grep -lsa 'chain[(][)] {' /proc/[0-9]*/cmdline";

/**
 * Jobs in host mode that leave forking processes, and ordinary ones after and beside them. `pool`: of slots in host mode;
 * `script`: of the ordinary ones.
 */
export function forker(pool: string, script: string): Attacker {
  let number = 0;
  return {
    name: 'forks for ever in host mode',
    run: ({ signal, queue, jobs }) =>
      repeated(signal, 1_000, async () => {
        // As many as an idle slot takes before the next turn.
        if (jobs().some((job) => job.pool === pool && job.state === 'waiting')) return false;
        number += 1;
        await queue({ pool, name: `hostile: host-${number} forks for ever`, script: forks });
        await queue({ pool, name: `host-${number} after it`, script, count: 2 });
        return true;
      }),
  };
}

/** Repeats an attack, from start to start; resolves with the number of times that it happened. */
async function repeated(
  signal: AbortSignal,
  everyMs: number,
  attack: () => Promise<boolean>,
): Promise<number> {
  let times = 0;
  while (!signal.aborted) {
    const due = Date.now() + everyMs;
    if (await attack()) times += 1;
    await delay(Math.max(0, due - Date.now()), undefined, { signal }).catch(() => undefined);
  }
  return times;
}
