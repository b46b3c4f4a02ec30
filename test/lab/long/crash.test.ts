// SIGKILL ends provision after each effect that it has on a bare host, and on one where everything changes: the command,
// and with it the transient unit that ran. The next run continues, and is killed after its first new effect.
// Real: the command, SSH, systemd, apt, dpkg, Docker, the manager. Stand-ins: GPUs and driver, the agent program, Azure
// DevOps.
import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { cliEnvironment } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { run, type Output } from '../../../practice/lab/run.ts';
import { say } from '../../../practice/lab/say.ts';
import { makeCertificates } from '../../../practice/lab/tls.ts';
import { endState } from '../support/end-state.ts';
import { loadedState } from '../support/loaded-state.ts';
import { ManagedHost, pool } from '../support/managed-host.ts';
import { effectsIn, effectsVariable } from '../support/killed-cli/effects.ts';
import { installNouveau } from '../support/killed-cli/nouveau.ts';
import { buildKilledCli } from '../support/killed-cli/release.ts';
import { release } from '../support/release.ts';

const prefix = 'crash';
/** Far more than there are effects. */
const most = 300;

let lab: Lab;
let azure: LabAzure;
beforeAll(async () => {
  await removeLab(prefix);
  const machine = { release: 'trixie', gpus: ['h200'] } as const;
  lab = await startLab({
    prefix,
    hosts: [
      { name: 'cut', ...machine },
      { name: 'whole', ...machine },
    ],
  });
  await makeCertificates(lab.folder, ['DNS:lab.invalid']);
  azure = await startAzure(prefix, lab.folder);
  for (const host of lab.hosts) await installNouveau(host);
  mkdirSync(join(lab.folder, 'vision'));
  writeFileSync(join(lab.folder, 'registry-password'), 'practice\n', { mode: 0o600 });
});
afterAll(() => removeLab(prefix));

/** The package of one release, and a copy of it whose command kills itself. */
async function releases(name: string): Promise<{ readonly folder: string; readonly killed: string }> {
  release(lab.folder, name);
  const folder = join(lab.folder, `release-${name}`);
  if (name !== 'first')
    writeFileSync(join(folder, 'units/azp-fleet-manager.service'), `# ${name}\n`, { flag: 'a' });
  const killed = join(lab.folder, `killed-${name}`);
  cpSync(folder, killed, { recursive: true, verbatimSymlinks: true });
  await buildKilledCli(killed);
  return { folder, killed };
}

function cli(
  packageFolder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Output> {
  return run(process.execPath, [join(packageFolder, 'bin/azp-fleet.js'), ...args], {
    allowFailure: true,
    cwd: lab.folder,
    env: { ...cliEnvironment(lab.folder), ...env },
    timeoutMs: 600_000,
  });
}

const provision = (inventory: string, host: string) => ['provision', inventory, '--limit', host, '--yes'];

/** Runs the CLI until a run completes. Returns the effect after which each run was killed, and passes it to `onEffect`. */
async function killAfterEach(
  name: string,
  killed: string,
  inventory: string,
  onEffect: (effect: string) => void,
): Promise<readonly string[]> {
  const file = join(lab.folder, `effects-${name}`);
  const env = { [effectsVariable]: file };
  for (let runs = 1; runs < most; runs += 1) {
    const [began, boot] = [Date.now(), await lab.host('cut').bootId()];
    const { code, stdout, stderr } = await cli(killed, provision(inventory, 'cut'), env);
    const effects = effectsIn(file);
    const last = effects.at(-1) ?? '';
    if (code !== 137) {
      expect(code, `after "${last}":\n${stdout}\n${stderr}`).toBe(0);
      return effects;
    }
    expect(effects, `a run was killed by something else:\n${stderr}`).toHaveLength(runs);
    say(`killed after ${last} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
    if (last === 'reboot') await lab.host('cut').rebooted(boot);
    onEffect(last);
  }
  throw new Error(`${most} runs were killed and none completed`);
}

/** Expects that the unmodified CLI has nothing left to change, and that the host's agent runs a job. */
async function expectFixed(packageFolder: string, inventory: string, host: LabHost): Promise<void> {
  const second = await cli(packageFolder, provision(inventory, 'cut'));
  expect(second.code, `${second.stdout}\n${second.stderr}`).toBe(0);
  const third = await cli(packageFolder, ['plan', inventory, '--limit', 'cut']);
  expect(third.code, third.stdout).toBe(0);
  const managed = new ManagedHost(host, azure);
  const jobs = await azure.control.queue({
    pool,
    script: 'nvidia-smi -L',
    demands: ['Agent.Name -equals cut-0'],
  });
  expect(await managed.finished(jobs)).toMatchObject([{ result: 'succeeded' }]);
}

async function expectSameEnd(whole: Promise<Output>): Promise<void> {
  const { code, stdout, stderr } = await whole;
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  const [cut, other] = [lab.host('cut'), lab.host('whole')];
  const named = (lines: readonly string[]) =>
    lines.map((line) => line.replaceAll(/\b(cut|whole)\b/g, 'HOST'));
  expect(named(await endState(cut))).toEqual(named(await endState(other)));
  expect(named(await loadedState(cut))).toEqual(named(await loadedState(other)));
}

function inventory(
  changes: Readonly<Record<string, unknown>>,
  top: Readonly<Record<string, unknown>>,
): Promise<string> {
  writeFileSync(join(lab.folder, 'vision/note'), JSON.stringify(changes));
  writeFileSync(join(lab.folder, 'vision/Dockerfile'), 'ARG BASE\nFROM $BASE\nCOPY note /note\n');
  const defaults = { dockerfile: { folder: 'vision' }, ...changes };
  return writeInventory(lab, azure, { defaults, top: { ca: 'ca.crt', ...top } });
}

describe('a run that is killed after each effect', () => {
  test('on a bare host', async () => {
    const { folder, killed } = await releases('first');
    const file = await inventory({ driver: { branch: '580' } }, {});
    let whole: Promise<Output> | undefined;
    const effects = await killAfterEach('bare', killed, file, (last) => {
      // The pool belongs to both: the other begins when it is there.
      if (last.startsWith('Azure DevOps: authorize')) whole = cli(folder, provision(file, 'whole'));
    });
    await expectFixed(folder, file, lab.host('cut'));
    await expectSameEnd(whole ?? Promise.reject(new Error('the pool was never authorized')));
    report('a bare host', effects);
  });

  test('on a host where everything changes, with agents running', async () => {
    const { folder, killed } = await releases('second');
    await makeCertificates(lab.folder, ['DNS:lab.invalid']);
    await changeToken();
    for (const host of lab.hosts) await degrade(host);
    const file = await inventory(
      { driver: { branch: '595' }, limits: { memory: '2g' } },
      { registries: { 'registry.lab.invalid': { user: 'ci', secret: { file: 'registry-password' } } } },
    );
    const whole = cli(folder, provision(file, 'whole'));
    const effects = await killAfterEach('outdated', killed, file, () => undefined);
    await expectFixed(folder, file, lab.host('cut'));
    await expectSameEnd(whole);
    report('an outdated host', effects);
  });
});

/** Prints how many effects there were. A command that the trace does not know may be an effect that it missed. */
function report(where: string, effects: readonly string[]): void {
  expect(effects.filter((each) => each.includes('unknown command'))).toEqual([]);
  say(`killed after each of ${effects.length} effects on ${where}: all fixed`);
}

/** Changes the server's token; agents have their own keys. */
async function changeToken(): Promise<void> {
  await azure.stop();
  writeFileSync(azure.tokenFile, `${randomBytes(26).toString('hex')}\n`, { mode: 0o600 });
  azure = await startAzure(prefix, lab.folder);
}

/** Breaks the host: no holds, a plugin missing, Docker without its settings and its start at boot, a newer toolkit. */
async function degrade(host: LabHost): Promise<void> {
  await host.exec(`set -e
apt-mark unhold $(apt-mark showhold) >/dev/null
dpkg -r --force-depends docker-buildx-plugin >/dev/null
echo '{"features":{"cdi":true},"experimental":true}' >/etc/docker/daemon.json
systemctl restart docker
systemctl disable -q docker
chmod 755 /usr/bin/nvidia-ctk`);
}
