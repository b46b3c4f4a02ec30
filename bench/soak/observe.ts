import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

import { Labels, managerUnit } from '../../src/shared/contract/paths.ts';
import { dockerCommand } from '../../practice/lab/engine.ts';
import type { LabHost } from '../../practice/lab/host.ts';
import { statusOf } from './hosts.ts';
import type { ContainerEvent } from './model.ts';

/** Prints the agent containers of a host's engine: those present, then each start and end. */
const script = `while :; do
  echo again
  since=$(date +%s.%N)
  docker ps --no-trunc --filter label=${Labels.kind}=agent --format 'present {{.ID}} {{.Label "${Labels.slot}"}}' &&
  docker events --since "$since" --filter label=${Labels.kind}=agent --filter event=start --filter event=die \\
    --format '{{.Action}} {{.ID}} {{index .Actor.Attributes "${Labels.slot}"}}'
  sleep 0.5
done`;

/** Pure: one line of the script's output. */
export function containerEvent(host: string, line: string): ContainerEvent | undefined {
  if (line === 'again') return { host, kind: 'again', id: '', slot: '' };
  const [, kind, id = '', slot = ''] = /^(present|start|die) ([0-9a-f]{64}) (\S+)$/u.exec(line) ?? [];
  return kind === 'present' || kind === 'start' || kind === 'die' ? { host, kind, id, slot } : undefined;
}

/** Returns the most memory that this process of the manager has had, in MiB; 0 while there is none. */
async function managerMiB(host: LabHost): Promise<number> {
  const pid = `$(systemctl show --property=MainPID --value ${managerUnit})`;
  const { stdout } = await host.exec(`grep VmHWM /proc/${pid}/status`, { allowFailure: true });
  return Math.ceil(Number(/^VmHWM:\s+(\d+) kB$/mu.exec(stdout)?.[1] ?? 0) / 1024);
}

/** Watches hosts from outside during a soak: containers by events, slots by polling. */
export class Observer {
  readonly events: ContainerEvent[] = [];
  readonly quarantines = new Set<string>();
  /** Host → most memory of its manager in MiB. */
  readonly memoryMiB = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #children = new Set<ChildProcess>();
  readonly #watches: Promise<unknown>;

  constructor(hosts: readonly LabHost[]) {
    this.#watches = Promise.all(hosts.flatMap((host) => [this.#follow(host), this.#poll(host)]));
  }

  async close(): Promise<void> {
    this.#stop.abort();
    for (const child of this.#children) child.kill('SIGKILL');
    await this.#watches;
  }

  async #follow(host: LabHost): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const [command, args] = dockerCommand(['exec', host.container, 'sh', '-c', script]);
      const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
      this.#children.add(child);
      for await (const line of createInterface(child.stdout)) {
        const event = containerEvent(host.name, line);
        if (event !== undefined) this.events.push(event);
      }
      this.#children.delete(child);
      await this.#pause(500);
    }
  }

  async #poll(host: LabHost): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const status = await statusOf(host);
      for (const { slot, state, cause } of status?.slots ?? []) {
        if (state === 'quarantined') this.quarantines.add(`${host.name} slot ${slot}: ${cause}`);
      }
      const mib = Math.max(this.memoryMiB.get(host.name) ?? 0, await managerMiB(host));
      this.memoryMiB.set(host.name, mib);
      await this.#pause(3000);
    }
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stop.signal }).catch(() => undefined);
  }
}
