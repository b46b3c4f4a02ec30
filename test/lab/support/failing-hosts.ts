import { expect } from 'vitest';

import type { StatusRow } from '../../../src/fleet/status/row.ts';
import type { Verdict } from '../../../src/shared/health/verdict.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import type { HostOptions } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import type { Lab } from '../../../practice/lab/lab.ts';
import { startStackLab } from '../../../practice/lab/provisioned.ts';
import { until } from '../../../practice/lab/run.ts';

/** A script for a root shell on the host, or what else makes the fault. */
type Act = string | (() => Promise<unknown>);

export interface Fault {
  readonly code: string;
  readonly state: Verdict['state'];
  readonly cause: RegExp;
  readonly begin: Act;
  readonly end: Act;
  /** Default: hook. */
  readonly host?: string;
  readonly options?: readonly string[];
  /** All else that is wrong follows from it, so that nothing else is shown. */
  readonly alone?: true;
}

/** The codes of what is wrong: of the findings, and of a host that is not reached. */
const codes = ({ verdict, findings }: StatusRow): readonly string[] => [
  ...(verdict.code === undefined ? [] : [verdict.code]),
  ...findings.map(({ code }) => code),
];

const isHealthy = ({ verdict }: StatusRow): boolean => verdict.state === 'healthy';

/** Provisioned hosts that break in one way at a time, and what `status` says about each. */
export class FailingHosts {
  readonly lab: Lab;
  readonly azure: LabAzure;
  readonly #inventory: string;

  private constructor(lab: Lab, azure: LabAzure, inventory: string) {
    this.lab = lab;
    this.azure = azure;
    this.#inventory = inventory;
  }

  /** `settings`: of each host in the inventory. `prepare`: a script for the host named hook, before it is provisioned. */
  static async start(
    prefix: string,
    hosts: readonly HostOptions[],
    settings: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
    prepare = ':',
  ): Promise<FailingHosts> {
    const lab = await startStackLab({ prefix, hosts });
    await lab.host('hook').exec(prepare);
    const azure = await startAzure(prefix, lab.folder);
    const inventory = await writeInventory(lab, azure, { hosts: settings });
    const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', inventory, '--yes']);
    expect(code, `${stdout}\n${stderr}`).toBe(0);
    const started = new FailingHosts(lab, azure, inventory);
    for (const { name } of hosts) await started.#shown('a healthy host', name, [], isHealthy);
    return started;
  }

  /** Makes the fault, expects the verdict of `status`, and ends it: then the host is healthy. */
  async expectVerdict(what: string, fault: Fault): Promise<void> {
    const { host = 'hook', options = [], code, state, cause, alone } = fault;
    await this.#act(host, fault.begin);
    try {
      const fits = (row: StatusRow): boolean => codes(row).includes(code) && row.verdict.state === state;
      const row = await this.#shown(what, host, options, fits);
      expect(row.verdict.cause).toMatch(cause);
      expect(row.verdict.next).not.toBe('');
      const serious = row.findings.filter(({ severity }) => severity !== 'info').map((each) => each.code);
      if (alone === true) expect(serious).toEqual(state === 'unreachable' ? [] : [code]);
    } finally {
      await this.#act(host, fault.end);
    }
    await this.#shown(`a healthy host after: ${what}`, host, options, isHealthy);
  }

  async #act(host: string, act: Act): Promise<void> {
    if (typeof act === 'string') await this.lab.host(host).exec(`set -e\n${act}`);
    else await act();
  }

  async #status(name: string, options: readonly string[]): Promise<StatusRow> {
    const line = ['status', this.#inventory, name, '--json', ...options];
    const { stdout, stderr } = await azpFleet(this.lab.folder, line);
    const [row] = (JSON.parse(stdout) as { hosts: readonly StatusRow[] }).hosts;
    if (row === undefined) throw new Error(`no status of ${name}: ${stderr}`);
    return row;
  }

  /** Waits for a row; reports the last one where it does not come. */
  async #shown(
    what: string,
    name: string,
    options: readonly string[],
    fits: (row: StatusRow) => boolean,
  ): Promise<StatusRow> {
    let row: StatusRow | undefined;
    try {
      const seen = async () => (fits((row = await this.#status(name, options))) ? row : undefined);
      return await until(what, seen, { timeoutMs: 900_000, everyMs: 2000 });
    } catch (error) {
      throw new Error(`${what}: ${JSON.stringify(row?.verdict)} ${JSON.stringify(row && codes(row))}`, {
        cause: error,
      });
    }
  }
}
