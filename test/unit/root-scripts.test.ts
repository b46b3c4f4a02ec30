// Every shell text that we generate for hosts and images is valid, and gives shellcheck nothing to say.
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

import { managerUnit } from '../../src/contract/paths.ts';
import { managerUnitFor } from '../../src/steps/manager/unit.ts';
import { rootScripts } from '../support/root-scripts/all.ts';
import { sourcesWithShell } from '../support/root-scripts/sources.ts';

const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-scripts-'));
afterAll(() => rmSync(folder, { recursive: true }));

const scripts = rootScripts();
for (const [name, text] of scripts) writeFileSync(join(folder, name), text);
const names = [...scripts.keys()];

/** Whose text is in some script of the collection. A new one gets its scripts there, then its line here. */
const collected = [
  'src/apply/reboot.ts',
  'src/facts/probes/changes.ts',
  'src/facts/probes/disk.ts',
  'src/facts/probes/docker.ts',
  'src/facts/probes/driver.ts',
  'src/facts/probes/files.ts',
  'src/facts/probes/gpus.ts',
  'src/facts/probes/host-lock.ts',
  'src/facts/probes/kernels.ts',
  'src/facts/probes/machine.ts',
  'src/facts/probes/manager.ts',
  'src/facts/probes/others.ts',
  'src/facts/probes/ours-cdi.ts',
  'src/facts/probes/ours-packages.ts',
  'src/facts/probes/ours-sources.ts',
  'src/facts/probes/ours.ts',
  'src/facts/probes/site-ca.ts',
  'src/facts/probes/texts.ts',
  'src/health/cuda/script.ts',
  'src/health/smi-script.ts',
  'src/manager/docker/agent-start.ts',
  'src/manager/gpus/kernel-watch.ts',
  'src/manager/host-mode/vacate-script.ts',
  'src/manager/tenants/end-processes.ts',
  'src/packages/apt/apt.ts',
  'src/packages/apt/contrib.ts',
  'src/packages/apt/download.ts',
  'src/packages/apt/driver.ts',
  'src/packages/apt/folder/from-folder.ts',
  'src/packages/apt/folder/gather.ts',
  'src/packages/apt/folder/index.ts',
  'src/packages/apt/headers.ts',
  'src/packages/apt/install.ts',
  'src/packages/apt/installed.ts',
  'src/packages/apt/layouts.ts',
  'src/packages/apt/prelude.ts',
  'src/packages/apt/removal/packages.ts',
  'src/packages/apt/removal/source.ts',
  'src/packages/apt/request.ts',
  'src/packages/apt/simulation/functions.ts',
  'src/packages/apt/simulation/scratch.ts',
  'src/packages/apt/simulation/script.ts',
  'src/packages/apt/source.ts',
  'src/packages/apt/trust.ts',
  'src/packages/dnf/dnf.ts',
  'src/packages/dnf/downloader.ts',
  'src/packages/dnf/downloads.ts',
  'src/packages/dnf/driver.ts',
  'src/packages/dnf/folder/flat.ts',
  'src/packages/dnf/folder/from-folder.ts',
  'src/packages/dnf/folder/gather.ts',
  'src/packages/dnf/folder/index.ts',
  'src/packages/dnf/folder/write-index.ts',
  'src/packages/dnf/headers.ts',
  'src/packages/dnf/install.ts',
  'src/packages/dnf/installed.ts',
  'src/packages/dnf/needs/builder.ts',
  'src/packages/dnf/needs/epel.ts',
  'src/packages/dnf/needs/toolset.ts',
  'src/packages/dnf/prelude.ts',
  'src/packages/dnf/put-source.ts',
  'src/packages/dnf/removal/packages.ts',
  'src/packages/dnf/removal/source.ts',
  'src/packages/dnf/request.ts',
  'src/packages/dnf/simulation/answers.ts',
  'src/packages/dnf/simulation/functions.ts',
  'src/packages/dnf/simulation/scratch.ts',
  'src/packages/dnf/simulation/script.ts',
  'src/packages/dnf/source.ts',
  'src/packages/dnf/trust.ts',
  'src/packages/libraries.ts',
  'src/packages/lock.ts',
  'src/packages/offline/fetched.ts',
  'src/packages/package-record.ts',
  'src/packages/proxy.ts',
  'src/packages/set-aside.ts',
  'src/packages/shell.ts',
  'src/setup/hosts/give-key.ts',
  'src/setup/hosts/look-around.ts',
  'src/ssh/session/bootstrap.ts',
  'src/ssh/session/follow-change.ts',
  'src/ssh/session/frames.ts',
  'src/ssh/session/lock.ts',
  'src/ssh/session/socket-agent.ts',
  'src/ssh/session/start-change.ts',
  'src/ssh/session/upload.ts',
  'src/steps/docker.ts',
  'src/steps/docker/config-script.ts',
  'src/steps/docker/engine-script.ts',
  'src/steps/driver/kernels.ts',
  'src/steps/driver/runfile/persistenced.ts',
  'src/steps/driver/runfile/register.ts',
  'src/steps/driver/runfile/scripts.ts',
  'src/steps/driver/scripts.ts',
  'src/steps/driver/services.ts',
  'src/steps/driver/unload.ts',
  'src/steps/image.ts',
  'src/steps/manager-scripts.ts',
  'src/steps/manager/drained.ts',
  'src/steps/manager/leftovers.ts',
  'src/steps/manager/secrets.ts',
  'src/steps/remove/daemon-json-script.ts',
  'src/steps/remove/machine-scripts.ts',
  'src/steps/remove/packages.ts',
  'src/steps/supplies/bring-agent.ts',
  'src/steps/supplies/load-images.ts',
  'src/steps/toolkit/cdi.ts',
];

/** What looks like shell text and is none of ours that a host gets. */
const others = {
  'src/apply/proof/await-manager.ts': 'two programs, one after the other',
  'src/azure/fake/world/idle-agent.ts': 'a capability that an agent tells of',
  'src/cli/commands/ssh/exec.ts': "the user's own command",
  'src/health/probe.ts': 'hands on the look at the GPUs',
  'src/inventory/secret.ts': "the user's own command",
  'src/manager/docker/job-user.ts': "a login shell's path",
  'src/manager/host-mode/unit.ts': 'one program',
  'src/manager/host-mode/vacate.ts': 'collected',
  'src/manager/registration/register-by-config.ts': 'collected',
  'src/packages/apt/simulation/answers.ts': 'what a person types',
  'src/render/completion.ts': 'for the shell of the admin; its own test runs it',
  'src/ssh/connect/dial-command.ts': "ssh_config's own command",
  'src/ssh/session/start.ts': 'a sentence',
  'src/ssh/session/sudo.ts': 'a sentence',
  'src/ssh/wire/openssh-way.ts': 'one program of the admin; its own test runs it',
};

test('whatever holds shell text has its scripts in the collection', () => {
  expect(sourcesWithShell()).toEqual([...collected, ...Object.keys(others)].toSorted());
});

test('they are valid for the plainest shell there is', () => {
  const broken = names.filter((name) => spawnSync('/bin/sh', ['-n', join(folder, name)]).status !== 0);
  expect(broken).toEqual([]);
});

test('they give shellcheck nothing to say', async ({ annotate }) => {
  if (spawnSync('shellcheck', ['-V']).error !== undefined)
    return annotate('shellcheck is not installed: only the syntax was checked');
  const shares = Array.from({ length: availableParallelism() }, (_, share) =>
    names.filter((_, index) => index % availableParallelism() === share),
  );
  expect((await Promise.all(shares.map(shellcheck))).join('')).toBe('');
  return undefined;
  // Some 1,500 texts: half a minute on two cores that do nothing else.
}, 240_000);

test('systemd understands every line of our unit', ({ annotate }) => {
  const unit = join(folder, managerUnit);
  const systemd = Number(
    /\d+/.exec(spawnSync('systemd-analyze', ['--version']).stdout?.toString() ?? '')?.[0],
  );
  // Its program is on hosts only.
  const { text } = managerUnitFor(readFileSync('units/azp-fleet-manager.service', 'utf8'), systemd);
  writeFileSync(unit, text.replace(/^ExecStart=\S+/m, 'ExecStart=/bin/true'));
  const args = ['verify', '--man=no', '--recursive-errors=no', unit];
  const { error, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  if (error !== undefined) return annotate('systemd-analyze is not installed: the unit was not checked');
  expect(stderr.split('\n').filter((line) => line.includes(managerUnit))).toEqual([]);
  return undefined;
});

/**
 * SC2034, SC2317, SC2329: shared preludes hold functions and variables that not every script calls. SC1003, SC2016: a
 * script in another one's quotes expands nothing there; it is in the collection by itself, too.
 */
function shellcheck(some: readonly string[]): Promise<string> {
  const args = ['--shell=sh', '--exclude=SC1003,SC2016,SC2034,SC2317,SC2329', ...some];
  return new Promise((resolve) => {
    execFile('shellcheck', args, { cwd: folder }, (_, stdout, stderr) => resolve(`${stdout}${stderr}`));
  });
}
