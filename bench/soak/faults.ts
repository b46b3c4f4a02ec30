import { setTimeout as delay } from 'node:timers/promises';

import { managerUnit } from '../../src/shared/contract/paths.ts';
import type { Fault } from '../../practice/azure/control/control.ts';
import { type LabHost, occupyGpu } from '../../practice/lab/host.ts';
import { until } from '../../practice/lab/run.ts';
import { statusOf } from './hosts.ts';
import type { SoakFleet } from './model.ts';

/** A failure, or an action of a user, while jobs run. */
export interface Disturbance {
  readonly name: string;
  /** Hosts whose slots must recover. */
  readonly hosts: readonly LabHost[];
  /** It may end jobs on its hosts; the server must then report them. */
  readonly cutsJobs?: boolean;
  /** Another process can give the server new keys. */
  readonly keysEnd?: boolean;
  /** Time limit for the recovery of every slot after the fault. */
  readonly boundMs: number;
  /** Resolves after the fault. For a GPU in use: when the last job could begin there (milliseconds since the epoch). */
  run(): Promise<void | { readonly takenAt: number }>;
}

/** Twelve agents, provision and jobs share two cores; none of these faults removes slots. */
export const shortMs = 90_000;

export function managerKill(host: LabHost): Disturbance {
  return {
    name: `SIGKILL of the manager of ${host.name}`,
    hosts: [host],
    boundMs: shortMs,
    run: async () => void (await host.exec(`systemctl kill -s KILL ${managerUnit}`)),
  };
}

/** Provisioned hosts have live-restore: their containers keep running. */
export function dockerRestart(host: LabHost): Disturbance {
  return {
    name: `restart of dockerd on ${host.name}`,
    hosts: [host],
    boundMs: shortMs,
    run: async () => void (await host.exec('systemctl restart docker')),
  };
}

export function dockerKill(host: LabHost): Disturbance {
  return {
    name: `SIGKILL of dockerd on ${host.name}`,
    hosts: [host],
    boundMs: shortMs,
    run: async () => void (await host.exec('systemctl kill -s KILL docker.service')),
  };
}

/** Another user's process occupies the first GPU for a while: its slots wait, the others continue. */
export function gpuTaken(host: LabHost): Disturbance {
  return {
    name: `another user's process on a GPU of ${host.name}`,
    hosts: [host],
    boundMs: shortMs,
    run: async () => {
      const gpuProcess = await occupyGpu(host, 0, 15_974);
      const uuid = host.gpus[0]?.uuid ?? '';
      const areWaiting = async (): Promise<boolean> => {
        const slots = (await statusOf(host))?.slots.filter(({ gpus }) => gpus.includes(uuid)) ?? [];
        return (
          slots.length > 0 && slots.every(({ state, code }) => state === 'waiting' && code === 'gpu.in-use')
        );
      };
      let takenAt: number;
      try {
        await until(`the slots of ${uuid} to wait`, areWaiting, { timeoutMs: shortMs, everyMs: 500 });
        takenAt = Date.now();
        // Jobs are always queued: none may begin there.
        await delay(8_000);
      } finally {
        await gpuProcess.leave();
      }
      return { takenAt };
    },
  };
}

/** Every management call of every host gets this answer for some time. */
export function serverFault(fleet: SoakFleet, answer: Omit<Fault, 'count'>, ms: number): Disturbance {
  const { control } = fleet.azure;
  return {
    name: `${answer.status} from the server for ${ms / 1000} s`,
    hosts: fleet.lab.hosts,
    boundMs: 2 * shortMs,
    run: async () => {
      await control.fail({ ...answer, count: 1_000_000 });
      await delay(ms);
      await control.clearFaults();
    },
  };
}

export function drainAndUndrain(fleet: SoakFleet, host: LabHost): Disturbance {
  return {
    name: `drain and undrain of ${host.name}`,
    hosts: [host],
    keysEnd: true,
    boundMs: shortMs,
    run: async () => {
      await fleet.cli(['drain', fleet.inventory, host.name, '--wait', '--drain-timeout', '5m']);
      await until(
        `${host.name} to be drained`,
        async () => (await statusOf(host))?.slots.every(({ state }) => state === 'drained') === true,
        { timeoutMs: 120_000, everyMs: 500 },
      );
      await fleet.cli(['undrain', fleet.inventory, host.name]);
    },
  };
}

/** Upgrades to another version of azp-fleet, as a user does. */
export function managerUpgrade(fleet: SoakFleet, next: SoakFleet['cli']): Disturbance {
  return {
    name: 'upgrade of all managers',
    hosts: fleet.lab.hosts,
    boundMs: shortMs,
    run: async () => void (await next(['provision', fleet.inventory, '--yes', '--no-probe'])),
  };
}

/**
 * Cut jobs hold their agents' names until the server gives them up (15 minutes), cut sessions for 5: both divided by
 * how fast the clock runs.
 */
export function reboot(host: LabHost, speed: number): Disturbance {
  return {
    name: `reboot of ${host.name}`,
    hosts: [host],
    cutsJobs: true,
    boundMs: (20 * 60_000) / speed + 2 * shortMs,
    run: () => host.reboot(),
  };
}
