import { randomUUID } from 'node:crypto';

import type { FakeJob } from '../../../practice/azure/control/control.ts';
import { systemClock } from '../../../src/shared/base/clock.ts';
import type { RunRecord, ManagerStatus } from '../../../src/shared/contract/status.ts';
import type { LabAzure } from '../../../practice/lab/azure.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { until } from '../../../practice/lab/run.ts';
import { tokenClient } from '../../support/token-client.ts';

/** The pool of the lab's inventories. */
export const pool = 'gpu-lab';

/** How a user of the host itself starts the manager's commands. */
export const program = '/opt/azp-fleet/current/node /opt/azp-fleet/current/manager.mjs';

/** For `expect.poll`: the machine shares two cores with everything else. */
export const settings = { timeout: 900_000, interval: 1000 };

const limits = { timeoutMs: 900_000, everyMs: 1000 };

/** Marks the agents of the host under test in the pool, so that its jobs go nowhere else. */
export const markAgents = 'config.capabilities["lab.manager"] = "yes";';

export interface HeldJob {
  /** Lets it end, and says how it went. */
  end(): Promise<FakeJob | undefined>;
}

/** Two agents of a host: in a container, and straight on it. */
export const boxAndBare = [
  { name: 'box', gpus: [0] },
  { name: 'bare', gpus: [1], mode: 'host', capabilities: ['compute'] },
] as const;

/** A provisioned machine with its manager. */
export class ManagedHost {
  readonly host: LabHost;
  readonly azure: LabAzure;
  readonly #held: (() => Promise<void>)[] = [];

  constructor(host: LabHost, azure: LabAzure) {
    this.host = host;
    this.azure = azure;
  }

  async status(): Promise<ManagerStatus> {
    return JSON.parse((await this.host.exec('cat /run/azp-fleet/status.json')).stdout) as ManagerStatus;
  }

  /** The states of the slots in one line; empty while there is no status, as right after a boot. */
  readonly states = async (): Promise<string> => {
    const { stdout } = await this.host.exec('cat /run/azp-fleet/status.json', { allowFailure: true });
    if (stdout === '') return '';
    const { slots } = JSON.parse(stdout) as ManagerStatus;
    return slots.map(({ state }) => state).join(' ');
  };

  /** Also for hooks, where vitest does not poll. */
  async allIdle(): Promise<void> {
    await this.are('idle idle');
  }

  async are(states: string): Promise<void> {
    await until(`the slots to be ${states}`, async () => (await this.states()) === states, limits);
  }

  /** Waits until the pool knows all agents of this machine as marked, and they wait for jobs. */
  async allMarked(): Promise<void> {
    const { slots } = await this.status();
    await until(
      'the mark of all agents',
      async () => {
        const { pools } = await this.azure.control.overview();
        const marked = pools
          .flatMap(({ agents }) => agents)
          .filter(({ userCapabilities }) => 'lab.manager' in userCapabilities);
        return slots.every(({ agent }) => marked.some(({ name }) => name === agent));
      },
      limits,
    );
    await this.allIdle();
  }

  /** Queues jobs that only agents with the mark, or those that the demands fit, may take. */
  async queue(script: string, count = 1, demands = ['lab.manager']): Promise<readonly FakeJob[]> {
    return this.azure.control.queue({ pool, script, count, demands });
  }

  /** A job on this agent that runs until `end` is called; resolves when it runs. */
  async holdJob(agent: string): Promise<HeldJob> {
    const sign = `/tmp/enough-${randomUUID()}`;
    const [job] = await this.azure.control.queue({
      pool,
      script: `until [ -e ${sign} ]; do sleep 0.2; done; echo done`,
      demands: [`Agent.Name -equals ${agent}`],
    });
    if (job === undefined) throw new Error(`no job was queued for ${agent}`);
    const end = async (): Promise<void> => {
      await this.host.exec(`docker exec ${agent} touch ${sign}`, { allowFailure: true });
    };
    this.#held.push(end);
    await until(
      `a job on ${agent}`,
      async () => (await this.status()).slots.some((slot) => slot.agent === agent && slot.state === 'busy'),
      limits,
    );
    return {
      end: async () => {
        // Only once: the next time it would leave its sign in the container of a later job.
        this.#held.splice(this.#held.indexOf(end), 1);
        await end();
        const [done] = await this.finished([job]);
        return done;
      },
    };
  }

  /** For hooks: a test that failed must not leave a job that never ends. */
  async endHeldJobs(): Promise<void> {
    for (const end of this.#held.splice(0)) await end();
  }

  async finished(jobs: readonly FakeJob[]): Promise<readonly FakeJob[]> {
    const ids = new Set(jobs.map(({ id }) => id));
    const mine = (all: readonly FakeJob[]) => all.filter(({ id }) => ids.has(id));
    const all = await this.azure.control.until(
      (found) => mine(found).every(({ state }) => state === 'done'),
      {
        timeoutMs: 900_000,
        everyMs: 500,
      },
    );
    return mine(all);
  }

  /** The evidence of the last runs, the newest first. */
  async runs(): Promise<readonly RunRecord[]> {
    return JSON.parse((await this.host.exec(`${program} runs`)).stdout) as RunRecord[];
  }

  /** Deletes an agent at the server; its stopped processes do not notice, and Docker still shows its container as running. */
  async loseAgent(agent: string): Promise<void> {
    await this.host.exec(`kill -STOP $(docker top ${agent} -eo pid | tail -n +2)`);
    const { organization, tokenFile } = this.azure;
    const client = tokenClient(organization, tokenFile, systemClock(1), new AbortController().signal);
    const poolId = (await client.findPool(pool))?.id ?? 0;
    const found = await client.findAgent(poolId, agent);
    await client.deleteAgent(poolId, found?.id ?? 0);
  }

  /** Ids of the agents' containers, sorted. */
  async containers(): Promise<readonly string[]> {
    const { stdout } = await this.host.exec(
      'docker ps -q --no-trunc --filter label=azp-fleet.kind=agent | sort',
    );
    return stdout.split('\n').filter((id) => id !== '');
  }

  /** Restarts the manager with a configuration that the given JavaScript has changed, always starting from the provisioned one. */
  async restartWith(change: string): Promise<void> {
    await this.host.exec(`set -e
cd /etc/azp-fleet
[ -e manager.json.before ] || cp -p manager.json manager.json.before
${program.split(' ')[0]} -e '
const fs = require("fs");
const config = JSON.parse(fs.readFileSync("manager.json.before", "utf8"));
${change}
fs.writeFileSync("manager.json", JSON.stringify(config));
'
systemctl restart azp-fleet-manager`);
  }

  /** The same for a change that containers made before do not have: waits until none of those is left. */
  async renewWith(change: string): Promise<void> {
    const before = await this.containers();
    await this.restartWith(change);
    await until(
      'new containers only',
      async () => (await this.containers()).every((id) => !before.includes(id)),
      limits,
    );
    await this.allMarked();
  }

  /** Back to the provisioned configuration. */
  async restore(): Promise<void> {
    await this.host.exec(`set -e
cd /etc/azp-fleet
[ ! -e manager.json.before ] || mv manager.json.before manager.json
systemctl restart azp-fleet-manager`);
    await this.allIdle();
  }
}
