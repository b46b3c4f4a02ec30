import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { stringify } from 'yaml';

import { fakeControl } from '../../../practice/azure/control/control.ts';
import { type RunningFake, startFake } from '../../../practice/azure/start.ts';
import { createAzureClient } from '../../../src/shared/azure/create-client.ts';
import { patCredential } from '../../../src/shared/azure/http/credential.ts';
import { systemClock } from '../../../src/shared/base/clock.ts';
import { silentLogger } from '../../../src/shared/base/log.ts';
import { Secret } from '../../../src/shared/base/secret.ts';
import { runtimeArtifact } from '../../../src/fleet/artifacts/node-runtime.ts';
import { Capabilities } from '../../../src/shared/contract/paths.ts';
import { sshKeyPair } from '../ssh-key.ts';
import { largest, owner, ScriptedHost } from './host.ts';
import { ScriptedServer } from './server.ts';

const pool = 'scripted';
const token = 'good-token';

/** Scripted hosts behind SSH servers of this process, with their agents in a practice server, and an inventory. */
export class ScriptedFleet {
  /** Has the inventory, and all files of the commands that run on it. */
  readonly folder: string;
  readonly inventory: string;
  readonly hosts: readonly ScriptedHost[];
  readonly #servers: readonly ScriptedServer[];
  readonly #azure: RunningFake;
  /** Of all hosts, as on machines: an address each. */
  readonly #port: number;

  private constructor(
    folder: string,
    hosts: readonly ScriptedHost[],
    servers: readonly ScriptedServer[],
    azure: RunningFake,
    port: number,
  ) {
    this.folder = folder;
    this.inventory = join(folder, 'inventory.yaml');
    this.hosts = hosts;
    this.#servers = servers;
    this.#azure = azure;
    this.#port = port;
  }

  static async start(count: number): Promise<ScriptedFleet> {
    const folder = mkdtempSync(join(tmpdir(), 'azp-scripted-'));
    mkdirSync(join(folder, 'tmp'));
    writeFileSync(join(folder, 'token'), `${token}\n`, { mode: 0o600 });
    // No host wants the Node runtime: compressing it takes half a minute.
    const { file = '' } = runtimeArtifact(join(folder, 'azp-fleet'), 'x86_64', false) ?? {};
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, Buffer.alloc(largest + 1));
    const key = sshKeyPair();
    const hosts = Array.from(
      { length: count },
      (_, index) => new ScriptedHost(`gpu-${index + 1}`, index, pool),
    );
    const servers = hosts.map(
      (host, index) =>
        new ScriptedServer(`127.1.${Math.floor(index / 250)}.${1 + (index % 250)}`, key.private, host),
    );
    const [first, ...others] = servers;
    const port = (await first?.listen(0)) ?? 0;
    await Promise.all(others.map((server) => server.listen(port)));
    const azure = await practice(join(folder, 'token'), count);
    const fleet = new ScriptedFleet(folder, hosts, servers, azure, port);
    fleet.#writeInventory(key.public.split(' ').slice(0, 2).join(' '));
    return fleet;
  }

  /** The environment of a command. */
  get env(): Readonly<Record<'LOGIN' | 'TMPDIR' | 'XDG_STATE_HOME' | 'XDG_CACHE_HOME', string>> {
    const { folder } = this;
    return {
      LOGIN: 'a-login-password',
      TMPDIR: join(folder, 'tmp'),
      XDG_STATE_HOME: folder,
      XDG_CACHE_HOME: folder,
    };
  }

  /** The number of open connections to all hosts. */
  get connections(): number {
    return this.#servers.reduce((sum, { connections }) => sum + connections, 0);
  }

  host(name: string): ScriptedHost {
    return this.#at(name, this.hosts);
  }

  /** The host can no longer be reached. */
  leave(name: string): Promise<void> {
    return this.#at(name, this.#servers).leave();
  }

  async back(name: string): Promise<void> {
    await this.#at(name, this.#servers).listen(this.#port);
  }

  async close(): Promise<void> {
    await Promise.all([this.#azure.close(), ...this.#servers.map((server) => server.leave())]);
    rmSync(this.folder, { recursive: true, force: true });
  }

  #at<T>(name: string, all: readonly T[]): T {
    const found = all[this.hosts.findIndex((host) => host.name === name)];
    if (found === undefined) throw new Error(`no host ${name}`);
    return found;
  }

  #writeInventory(hostKey: string): void {
    const hosts = this.hosts.map(({ name }, index) => [
      name,
      { address: this.#servers[index]?.address, hostKeys: [hostKey] },
    ]);
    const inventory = {
      organization: this.#azure.organization,
      token: { file: join(this.folder, 'token') },
      waves: { maxUnavailable: '10%' },
      defaults: {
        user: 'lab',
        port: this.#port,
        pool,
        agents: 1,
        sshConfig: 'none',
        loginPassword: { env: 'LOGIN' },
        driver: 'none',
        toolkit: 'none',
      },
      hosts: Object.fromEntries(hosts) as object,
    };
    writeFileSync(this.inventory, stringify(inventory));
  }
}

/** Its clock stands still, so that the agents stay online. */
async function practice(tokenFile: string, count: number): Promise<RunningFake> {
  const now = Date.now();
  const azure = await startFake({
    host: '127.0.0.1',
    port: 0,
    tokenFile,
    organization: 'lab',
    projects: [],
    clock: { ...systemClock(1), wall: () => now },
  });
  const client = createAzureClient({
    organization: azure.organization,
    credential: patCredential(new Secret(token)),
    log: silentLogger,
    signal: new AbortController().signal,
    clock: systemClock(1),
  });
  await client.ensurePool(pool);
  const capabilities = { [Capabilities.owner]: owner };
  await fakeControl(azure.origin).makeAgents({
    pool,
    count,
    namePattern: 'gpu-{n}-1',
    online: true,
    capabilities,
  });
  return azure;
}
