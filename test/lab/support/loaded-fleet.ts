import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';

import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { removeLab, type Lab } from '../../../practice/lab/lab.ts';
import { startStackLab } from '../../../practice/lab/provisioned.ts';
import { type Output, until } from '../../../practice/lab/run.ts';
import { ManagedHost, pool } from './managed-host.ts';

/** For the inventory's defaults: four slots on the one GPU of each host. */
export const fourSlots = { agents: 4, share: true } as const;
export const allIdle = 'idle idle idle idle';

/** Returns the output of a command without its line breaks. */
export const oneLine = (output: string): string => output.replaceAll(/\s+/g, ' ');

/** Three provisioned hosts with four slots each, and more jobs than these twelve slots can take while something is done to them. */
export class LoadedFleet {
  readonly lab: Lab;
  readonly azure: LabAzure;
  readonly inventory: string;
  readonly names: readonly string[];

  private constructor(lab: Lab, azure: LabAzure, inventory: string) {
    this.lab = lab;
    this.azure = azure;
    this.inventory = inventory;
    this.names = lab.hosts.map(({ name }) => name);
  }

  /** `write` prepares the hosts and writes the inventory; returns its path. */
  static async start(
    prefix: string,
    names: readonly string[],
    write: (lab: Lab, azure: LabAzure) => Promise<string>,
  ): Promise<LoadedFleet> {
    await removeLab(prefix);
    const lab = await startStackLab({
      prefix,
      hosts: names.map((name) => ({ name, release: 'bookworm', login: 'root', gpus: ['h200'] })),
    });
    const azure = await startAzure(prefix, lab.folder);
    const fleet = new LoadedFleet(lab, azure, await write(lab, azure));
    await fleet.succeed('provision', '--yes');
    for (const name of names) await fleet.on(name).are(allIdle);
    return fleet;
  }

  async stop(): Promise<void> {
    await this.azure.stop();
    await this.lab.remove();
  }

  readonly cli = (...args: readonly string[]): Promise<Output> =>
    azpFleet(this.lab.folder, [...args, '-i', this.inventory]);

  readonly succeed = async (...args: readonly string[]): Promise<Output> => {
    const output = await this.cli(...args);
    expect(output.code, `${output.stdout}\n${output.stderr}`).toBe(0);
    return output;
  };

  readonly on = (name: string): ManagedHost => new ManagedHost(this.lab.host(name), this.azure);

  get text(): string {
    return readFileSync(this.inventory, 'utf8');
  }

  set text(text: string) {
    writeFileSync(this.inventory, text);
  }

  /** Returns what an upgrade of any part leaves behind on each host. */
  async traces(names = this.names): Promise<readonly string[]> {
    const read = `dpkg-query -W; cat /proc/sys/kernel/random/boot_id; readlink /opt/azp-fleet/current; sha256sum /etc/azp-fleet/manager.json`;
    return Promise.all(names.map(async (name) => (await this.lab.host(name).exec(read)).stdout));
  }

  /** Returns the same with the text of the inventory. */
  async everything(): Promise<readonly string[]> {
    return [this.text, ...(await this.traces())];
  }

  /**
   * Runs `work` once all slots are busy at the same time, and keeps more jobs waiting until its end. Each job must succeed, and run
   * only once. `slots`: fewer where some are drained.
   */
  async underLoad<T>(work: () => Promise<T>, slots = 4 * this.names.length): Promise<T> {
    const { control } = this.azure;
    const queue = (seconds: number) =>
      control.queue({ pool, script: `sleep ${seconds}; echo done`, count: slots });
    await until('idle slots', async () => (await this.#idle()) === slots, { everyMs: 1000 });
    const jobs = [...(await queue(40)), ...(await queue(10))];
    await control.until((all) => all.filter(({ state }) => state === 'running').length === slots, {
      timeoutMs: 300_000,
      everyMs: 500,
    });
    const over = new AbortController();
    const waiting: number[] = [];
    const feeding = (async () => {
      while (!over.signal.aborted) {
        const open = (await control.jobs()).filter(({ state }) => state !== 'done');
        waiting.push(open.filter(({ state }) => state === 'waiting').length);
        if (open.length < 2 * slots) jobs.push(...(await queue(10)));
        await delay(1000);
      }
    })();
    try {
      return await work();
    } finally {
      over.abort();
      await feeding;
      const done = await this.on(this.names[0] ?? '').finished(jobs);
      expect(done.filter(({ result, runs }) => result !== 'succeeded' || runs.length !== 1)).toEqual([]);
      expect(done).toHaveLength(jobs.length);
      expect(Math.min(...waiting)).toBeGreaterThan(0);
    }
  }

  async #idle(): Promise<number> {
    const states = await Promise.all(this.names.map((name) => this.on(name).states()));
    return states.flatMap((each) => each.split(' ')).filter((state) => state === 'idle').length;
  }
}
