// The plan shows what package changes really do: real apt, dpkg, systemd and sshd, with the lab's stand-in packages.
import { readFileSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { gatherFacts } from '../../../src/fleet/facts/gather.ts';
import type { HostPlan } from '../../../src/fleet/plan/fleet-plan.ts';
import { apt } from '../../../src/fleet/packages/apt/apt.ts';
import { lockHolder } from '../../../src/fleet/packages/shell.ts';
import { planHost, questionFor } from '../../../src/fleet/plan/plan.ts';
import type { Change } from '../../../src/fleet/steps/change.ts';
import { dockerStep } from '../../../src/fleet/steps/docker/step.ts';
import { driverStep } from '../../../src/fleet/steps/driver/step.ts';
import type { Desired } from '../../../src/fleet/steps/step.ts';
import { toolkitStep } from '../../../src/fleet/steps/toolkit/step.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { buildDeb } from '../../../practice/lab/deb.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory, type InventoryChanges } from '../../../practice/lab/inventory.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { mirror, network } from '../../../practice/lab/paths.ts';
import type { Output } from '../../../practice/lab/run.ts';
import { installOwn } from '../support/host-history.ts';
import { StackRun, desiredStack } from '../support/stack-run.ts';
import { changesOf } from '../support/described-plan.ts';

const prefix = 'packages';
/** No server listens there. */
const silent = `http://${network.gateway}:9`;
const options = { steps: [driverStep, dockerStep, toolkitStep], disturbOthers: true };

let lab: Lab;
let stack: StackRun;
let host: LabHost;
let azure: LabAzure;

beforeAll(async () => {
  await removeLab(prefix);
  lab = await startLab({
    prefix,
    hosts: [{ name: 'a', release: 'bookworm', login: 'sudo', gpus: ['h200'] }],
  });
  host = lab.host('a');
  stack = new StackRun(lab);
  azure = await startAzure(prefix, lab.folder, { speed: 10 });
  await host.exec(installOwn('docker.io'));
  await ofTheSite('site-desk', ['docker.io']);
});
afterAll(() => removeLab(prefix));

/** A package of this site alone. */
async function ofTheSite(name: string, depends: readonly string[]): Promise<void> {
  const file = await buildDeb({ name, version: '1.0-1', description: 'of the site', depends }, lab.folder);
  await host.exec('cat >/root/site.deb && dpkg -i /root/site.deb && rm /root/site.deb', {
    input: readFileSync(file),
  });
}

async function plan(changes: InventoryChanges = {}): Promise<Output> {
  return azpFleet(lab.folder, ['plan', await writeInventory(lab, azure, changes)]);
}

/** All that apt and dpkg keep, by path: what it holds, when that changed, and who may read it. */
async function aptState(): Promise<string> {
  const folders = '/var/lib/apt /var/cache/apt /var/lib/dpkg /etc/apt /var/log/apt /usr/share/keyrings';
  const { stdout } = await host.exec(
    `find ${folders} -printf '%p %y %m %u %s %T@ %C@ %l\\n' | sort; find ${folders} -type f -print0 | sort -z | xargs -0 sha256sum`,
  );
  return stdout;
}

describe('a host with a history', () => {
  test('loses packages by name, and the question changes nothing', async () => {
    const before = await aptState();
    const { stdout, stderr, code } = await plan();
    expect(code, stderr).toBe(3);
    expect(stderr).toContain('a: simulating the package changes');
    const docker = stdout.slice(stdout.indexOf('docker   change to Docker Engine'));
    const removals = [...docker.matchAll(/^ {13}- (\S+) /gm)].map(([, name]) => name);
    expect(new Set(removals)).toEqual(new Set(['containerd', 'docker.io', 'runc', 'site-desk']));
    expect(stdout).toMatch(/install NVIDIA driver 580\.95\.05 \(open kernel modules, compute only\)/);
    expect(await aptState()).toBe(before);
    const { stdout: left } = await host.exec('ls -d /run/azp-fleet-simulation.* 2>/dev/null || :');
    expect(left).toBe('');
  });

  test('is answered while another process holds the locks, without waiting', async () => {
    const script = `perl -MFcntl -e '
      for my $file ("/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock", "/var/lib/apt/lists/lock") {
        open(my $f, ">>", $file); push @open, $f;
        my $lock = pack("ssqqi", F_WRLCK, 0, 0, 0, 0);
        fcntl($f, F_SETLK, $lock) or die;
      }
      sleep 3600'`;
    const holding = host.exec(script, { allowFailure: true });
    const holders = async (): Promise<string> =>
      (await host.exec(`${lockHolder(apt.locks)}\npackage_lock_holder`)).stdout;
    await expect.poll(holders).toMatch(/perl \(pid \d+\) holds \/var\/lib\/apt\/lists\/lock/);
    const { stdout } = await plan();
    expect(stdout).toMatch(/- site-desk /);
    expect(await holders()).toMatch(/perl/);
    await host.exec('pkill perl');
    await holding;
  });

  test('is planned when the vendor does not answer, with the facts about it', async () => {
    const { stdout } = await plan({
      top: {
        mirrors: {
          nvidiaDriver: `${mirror}/nvidia`,
          docker: `${silent}/docker`,
          toolkit: `${mirror}/toolkit`,
          agent: azure.agent.mirror,
        },
      },
    });
    expect(stdout).toMatch(/ {2}\? docker {3}change to Docker Engine/);
    expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
      /package simulation failed on the host: .*Could not connect.*; provision stops if it would remove anything else - containerd - docker\.io - runc/,
    );
    expect(stdout).toMatch(/ {2}\+ driver {3}install NVIDIA driver 580\.95\.05/);
  });

  test('refuses a branch that no source offers, with those that are', async () => {
    const { stdout, code } = await plan({ defaults: { driver: { branch: '581' } } });
    expect(code).toBe(1);
    expect(stdout).toContain('driver 581 is not in the repositories; they have 595, 580');
    expect(stdout).toContain('next: set driver.branch to one of these, or complete the mirror');
  });
});

const configured = (driver: { readonly branch: string }): Desired => desiredStack(host, driver);

interface Asked {
  readonly plan: HostPlan;
  readonly seconds: number;
}

/** The plan with what apt answers, and how long the host was asked; no time where it was not. */
function ask(desired: Desired): Promise<Asked> {
  return stack.connected(host, async (session) => {
    const facts = await gatherFacts(session, desired.host, desired.root);
    const question = questionFor(facts, desired, options, {});
    if (question === undefined)
      return { plan: planHost(facts, desired, options, { answers: {}, final: false }), seconds: 0 };
    const { stdout, durationMs } = await session.script(`set -eu\n${question.script}`, {
      totalTimeoutMs: 300_000,
    });
    const answers = question.read(stdout);
    return { plan: planHost(facts, desired, options, { answers, final: false }), seconds: durationMs / 1000 };
  });
}

const apply = (change: Change): Promise<string> => stack.apply(host, change);
const changes = ({ plan }: Asked): Change[] => changesOf(plan);

describe('a plan that is carried out', () => {
  test('stops before it removes what came after it was made, and continues when that has been announced', async ({
    annotate,
  }) => {
    const desired = configured({ branch: '595' });
    const early = await ask(desired);
    await annotate(`three transactions were asked about in ${early.seconds} s`);
    await ofTheSite('site-late', ['docker.io']);
    for (const change of changes(early)) {
      if (!change.id.startsWith('docker-install')) await apply(change);
      else
        await expect(apply(change)).rejects.toThrow(
          /apt would also remove other packages\nexpected: only containerd, docker\.io, runc, site-desk may be removed\nseen: site-late/,
        );
      if (change.id.startsWith('docker-install')) break;
    }
    expect((await host.exec('dpkg-query -W -f "\\${db:Status-Status}" site-late docker.io')).stdout).toBe(
      'installedinstalled',
    );
    const announced = await ask(desired);
    expect(
      changes(announced)
        .map(({ details = [] }) => details.map(({ text }) => text))
        .flat(),
    ).toContain('site-late 1.0');
    for (const change of changes(announced)) await apply(change);
    expect(await ask(desired)).toMatchObject({ plan: { stages: [], refusals: [] }, seconds: 0 });
  });

  test('calls a downgrade one, library by library, and makes it', async () => {
    const desired = configured({ branch: '580' });
    const asked = await ask(desired);
    const [first] = changes(asked);
    expect(first).toMatchObject({
      title: 'downgrade NVIDIA driver 595.71.05 → 580.95.05 (open kernel modules)',
      marker: 'change',
    });
    expect(first?.bound?.downgrades).toEqual(expect.arrayContaining(['libcuda1', 'nvidia-driver-cuda']));
    const lines = first?.details?.map(({ text }) => text).join('\n');
    expect(lines).toMatch(/^downgrade .*\blibcuda1\b.* 595\.71\.05 → 580\.95\.05$/m);
    expect(first?.details).toContainEqual({ marker: 'remove', text: 'nvidia-driver-pinning-595 595.71.05' });
    for (const change of changes(asked)) await apply(change);
    expect((await ask(desired)).plan).toMatchObject({ stages: [], refusals: [] });
  });
});
