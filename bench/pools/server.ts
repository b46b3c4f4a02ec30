import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pLimit from 'p-limit';
import { fakeControl } from '../../practice/azure/control/control.ts';
import { Capabilities } from '../../src/shared/contract/paths.ts';
import { clientFor, namesOf, ownerOf, slots, token } from './client.ts';

/** The practice server in a separate process; its pools are filled with the agents of whole hosts. */
export class PracticeServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'azp-fleet-bench-'));
  readonly organization: string;
  readonly #child: ChildProcess;

  private constructor(organization: string, child: ChildProcess) {
    this.organization = organization;
    this.#child = child;
  }

  static async start(): Promise<PracticeServer> {
    const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-bench-token-'));
    const file = join(folder, 'token');
    writeFileSync(file, token);
    const main = join(import.meta.dirname, '../../practice/azure/main.ts');
    const child = spawn(process.execPath, [main, '--listen', '127.0.0.1:0', '--token-file', file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    for await (const line of createInterface({ input: child.stdout }))
      return new PracticeServer(line.replace('listening: ', ''), child);
    throw new Error('the practice server ended');
  }

  readDemands(isSo: boolean): Promise<void> {
    return fakeControl(new URL(this.organization).origin).readDemands(isSo);
  }

  /** A pool with the agents of this many hosts, each with its own owner. */
  async fill(pool: string, hosts: number): Promise<void> {
    const client = clientFor(this.organization);
    const { pool: made } = await client.ensurePool(pool);
    await fakeControl(new URL(this.organization).origin).makeAgents({ pool, count: hosts * slots });
    const ids = new Map((await client.listAgents(made.id)).map((agent) => [agent.name, agent]));
    const limit = pLimit(8);
    const marks = Array.from({ length: hosts }, (_, host) =>
      namesOf(host).map((name) =>
        limit(async () => {
          const { id = 0, userCapabilities } = ids.get(name) ?? {};
          const marked = { ...userCapabilities, [Capabilities.owner]: ownerOf(host) };
          await client.setUserCapabilities(made.id, id, marked);
        }),
      ),
    );
    await Promise.all(marks.flat());
  }

  async end(): Promise<void> {
    this.#child.kill();
    rmSync(this.folder, { recursive: true, force: true });
    await new Promise((resolve) => this.#child.once('exit', resolve));
  }
}
