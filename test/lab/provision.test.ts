// From bare machines to agents that run jobs. Real: systemd, sshd, sudo, apt, Docker Engine, the manager, the protocol
// of the agents. Stand-ins: the GPUs and NVIDIA's packages, Azure DevOps, the agent program, the packages' mirror.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';

import { Terminal } from '../../practice/lab/terminal.ts';
import { azpFleet, cliEnvironment, command } from '../../practice/lab/azp-fleet.ts';
import { type LabHost, sudoPassword } from '../../practice/lab/host.ts';
import { writeInventory } from '../../practice/lab/inventory.ts';
import { bareFleet, type ProvisionedFleet } from '../../practice/lab/provisioned.ts';
import { until } from '../../practice/lab/run.ts';
import { startCli } from './support/cli.ts';
import { filesWith, placesOnHost, processesDuring, processesWith } from './support/secret-search.ts';
import { allowList, differences, snapshot } from './support/snapshot.ts';

let fleet: ProvisionedFleet;
beforeAll(async () => {
  fleet = await bareFleet();
});

/** Says in which container it runs: the id is in the paths of the files that Docker mounts into it. */
const ownContainer = `grep -o -m1 'containers/[0-9a-f]*' /proc/self/mountinfo`;

/** Each host while its manager does not probe: what comes and goes by that is not the run's. */
const snapshots = () =>
  Promise.all(
    fleet.lab.hosts.map((host) =>
      until(`no probe of the manager on ${host.name} while its disk is read`, async () => {
        const events = await probeEvents(host, 'create');
        if (await isProbing(host)) return false;
        const seen = await snapshot(host);
        return (await probeEvents(host, 'create')) === events && seen;
      }),
    ),
  );
const changedSince = async (before: Awaited<ReturnType<typeof snapshots>>, allowed: string) => {
  const after = await snapshots();
  return before.flatMap((one, index) => differences(one, after[index] ?? new Map(), allowList(allowed)));
};

/** A layer that the manager's round removed: what its image build left. A run adds and changes none, and removes none. */
const isRemovedLayer = (line: string): boolean =>
  /^\/var\/lib\/docker\/(?:overlay2|image\/overlay2)\/.* → nothing$/.test(line);

/**
 * Of the manager's own probes on the host in the last hour, one a line; nothing where Docker is not there yet. Until the
 * second after this one: docker(1) rounds down, and what happened in this second would be missing.
 */
async function probeEvents(host: LabHost, event: 'create' | 'destroy'): Promise<string> {
  const ofProbe = `--filter event=${event} --filter container=azp-fleet-probe-${host.name}`;
  const script = `! command -v docker >/dev/null || docker events --since 1h --until=-1s ${ofProbe}`;
  return (await host.exec(script)).stdout;
}

async function isProbing(host: LabHost): Promise<boolean> {
  const script = `! command -v docker >/dev/null || docker ps -aq --filter name=^azp-fleet-probe-${host.name}$`;
  return (await host.exec(script)).stdout !== '';
}

/** Returns what a run may ask a manager to keep; the rest of the file are the manager's own observations. */
async function ordersInState(host: LabHost): Promise<unknown> {
  const { stdout } = await host.exec('cat /var/lib/azp-fleet/manager.json');
  const { drain, adopt } = JSON.parse(stdout) as { readonly drain?: unknown; readonly adopt?: unknown };
  return { drain, adopt };
}

async function managersHaveProbed(): Promise<void> {
  for (const host of fleet.lab.hosts.filter(({ gpus }) => gpus.length > 0)) {
    await until(
      `the manager's own probe on ${host.name}`,
      async () => (await probeEvents(host, 'destroy')) !== '',
    );
  }
}

describe('plan', () => {
  test('shows what would be done, and which agents come of it, and changes nothing on the hosts', async () => {
    const before = await snapshots();
    const { code, stdout } = await azpFleet(fleet.lab.folder, ['plan', fleet.inventory]);
    expect(code).toBe(3);
    expect(stdout).toContain('registers hook-0, hook-1 in pool gpu-lab');
    expect(stdout).toContain('registers plain-0 in pool gpu-lab');
    expect(stdout).toContain('create agent pool gpu-lab');
    expect(await changedSince(before, 'allowed-by-plan.txt')).toEqual([]);
    const { pools } = await fleet.azure.control.overview();
    expect(pools.map(({ name }) => name)).not.toContain('gpu-lab');
  });
});

describe('provision', () => {
  test('refuses to guess without a terminal', async () => {
    const { code, stderr } = await azpFleet(fleet.lab.folder, ['provision', fleet.inventory]);
    expect(code).toBe(2);
    expect(stderr).toContain('--yes');
  });

  test('takes three bare machines to healthy hosts with their agents online, and shows no process the token', async () => {
    const seen = await processesDuring(fleet.azure.token, async () => {
      const run = await azpFleet(fleet.lab.folder, ['provision', fleet.inventory, '--yes']);
      expect(run.code, run.stderr).toBe(0);
      expect(run.stdout).toContain('3 hosts: 3 healthy');
    });
    expect(seen).toEqual([]);
    const { pools } = await fleet.azure.control.overview();
    const agents = pools.find(({ name }) => name === 'gpu-lab')?.agents ?? [];
    expect(agents.map(({ name, status }) => `${name} ${status}`).sort()).toEqual(
      ['cdi-0', 'hook-0', 'hook-1', 'plain-0'].map((name) => `${name} online`),
    );
  });

  test('makes no change the second time', async () => {
    await managersHaveProbed();
    const before = await snapshots();
    const orders = await Promise.all(fleet.lab.hosts.map(ordersInState));
    const { code, stdout } = await azpFleet(fleet.lab.folder, ['provision', fleet.inventory, '--yes']);
    expect(code).toBe(0);
    expect(stdout).toContain('3 hosts: 3 healthy · no changes');
    const changed = await changedSince(before, 'allowed-by-second-run.txt');
    expect(changed.filter((line) => !isRemovedLayer(line))).toEqual([]);
    expect(await Promise.all(fleet.lab.hosts.map(ordersInState))).toEqual(orders);
    const { code: pending } = await azpFleet(fleet.lab.folder, ['plan', fleet.inventory]);
    expect(pending).toBe(0);
  });

  test('leaves agents that run each job in a separate container, with the GPU', async () => {
    const { control } = fleet.azure;
    await control.queue({ pool: 'gpu-lab', count: 6, script: `nvidia-smi -L; ${ownContainer}` });
    const jobs = await until('the jobs to end', async () => {
      const all = await control.jobs();
      return all.every(({ state }) => state === 'done') && all;
    });
    expect(jobs.map(({ result }) => result)).toEqual(Array(6).fill('succeeded'));
    expect(jobs.every(({ log }) => log.includes('UUID: GPU-'))).toBe(true);
    const containers = jobs.map(({ log }) => /containers\/([0-9a-f]{64})/.exec(log)?.[1]);
    expect(containers).not.toContain(undefined);
    expect(new Set(containers).size).toBe(6);
  });
});

describe('on a terminal', () => {
  test('it shows the plan and asks; "no" changes nothing', async () => {
    const { lab, azure } = fleet;
    const asked = await writeInventory(lab, azure, {
      defaults: { capabilities: { rack: '12' } },
      file: join(lab.folder, 'asked.yaml'),
    });
    const program = [process.execPath, command, 'provision', asked, '--limit', 'hook'].join(' ');
    const terminal = new Terminal(program, { cwd: lab.folder, env: cliEnvironment(lab.folder) });
    try {
      await terminal.see('? Apply these changes to ');
      terminal.press('n', 'Enter');
      await terminal.see('[exit 4]');
      expect(terminal.history()).toContain("~ manager  write the manager's configuration");
      expect(terminal.history()).toContain('+ capability rack: 12');
    } finally {
      terminal.close();
    }
    expect((await azpFleet(lab.folder, ['plan', fleet.inventory])).code).toBe(0);
  });
});

describe('a saved plan', () => {
  test('is applied as shown, and refused after a host has changed', async () => {
    const { lab, azure } = fleet;
    const inventory = await writeInventory(lab, azure, {
      defaults: { capabilities: { rack: '12' } },
      file: join(lab.folder, 'saved.yaml'),
    });
    const saved = join(lab.folder, 'saved.json');
    expect((await azpFleet(lab.folder, ['plan', inventory, '--limit', 'hook', '-o', saved])).code).toBe(3);
    const host = lab.host('hook');
    const source = '/etc/apt/sources.list.d/azp-fleet-docker.sources';
    await host.exec(`cp ${source} /root/kept && echo >>${source}`);
    const refused = await azpFleet(lab.folder, ['provision', inventory, '--plan', saved, '--yes']);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('the host has changed since the plan was made');
    await host.exec(`cat /root/kept >${source}`);
    const applied = await azpFleet(lab.folder, ['provision', inventory, '--plan', saved, '--yes']);
    expect(applied.code, applied.stderr).toBe(0);
    expect(applied.stdout).toContain('1 host: 1 healthy');
    expect((await azpFleet(lab.folder, ['provision', fleet.inventory, '--yes'])).code).toBe(0);
  });
});

describe('the token', () => {
  test('can be replaced, and is found nowhere but in the root-only files made for it', async () => {
    const { lab, azure } = fleet;
    const next = 'n'.repeat(20) + 'ext0token'.repeat(3);
    writeFileSync(azure.tokenFile, `${next}\n${azure.token}\n`, { mode: 0o600 });
    const seenByChild = join(lab.folder, 'child-environment');
    const word = join(lab.folder, 'sudo-word');
    writeFileSync(word, sudoPassword, { mode: 0o600 });
    const inventory = await writeInventory(lab, azure, {
      file: join(lab.folder, 'rotated.yaml'),
      top: { token: { env: 'LAB_TOKEN' } },
      // A program that the CLI starts: its environment is the one that any of them would get.
      hosts: { cdi: { sudoPassword: { cmd: `env >${seenByChild}; sleep 1; cat ${word}` } } },
    });
    await azure.control.queue({ pool: 'gpu-lab', count: 4, script: 'env; sleep 8' });
    const run = startCli(lab, ['provision', inventory, '--yes', '--debug'], { LAB_TOKEN: next });
    const seen = new Set<string>();
    const watch = setInterval(
      () => processesWith(run.child.pid ?? 0, next).forEach((place) => seen.add(place)),
      50,
    );
    const { code, stdout, stderr } = await run.done;
    clearInterval(watch);
    writeFileSync(azure.tokenFile, `${next}\n`, { mode: 0o600 });
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('3 hosts: 3 healthy');
    expect(stdout + stderr).not.toContain(next);
    expect((await azure.control.jobs()).map(({ log }) => log).join('\n')).not.toContain(next);
    // Its own environment is where the user put it; no argument and no child may have it.
    expect([...seen]).toEqual(['environ of azp-fleet']);
    expect(filesWith(join(lab.folder, 'home'), next)).toEqual([]);
    expect(filesWith(lab.folder, next).filter((file) => !file.startsWith(azure.tokenFile))).toEqual([]);
    for (const host of lab.hosts) {
      const allowed =
        /^file (\/etc\/azp-fleet\/token|\/run\/credentials\/azp-fleet-manager\.service\/token) [46]00 root$/;
      const places = await placesOnHost(host, next);
      expect(
        places.filter((place) => !allowed.test(place)),
        host.name,
      ).toEqual([]);
      expect(places.some((place) => place.startsWith('file /etc/azp-fleet/token '))).toBe(true);
      expect(await placesOnHost(host, azure.token), `${host.name}, the token before`).toEqual([]);
    }
  });
});
