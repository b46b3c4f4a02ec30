// Every shell text that we generate for hosts and images is valid, and gives shellcheck nothing to say.
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

import { managerUnit } from '../../src/shared/contract/paths.ts';
import { managerUnitFor } from '../../src/fleet/steps/manager/unit.ts';
import { rootScripts } from '../support/root-scripts/all.ts';
import { sourcesWithShell } from '../support/root-scripts/sources.ts';

const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-scripts-'));
afterAll(() => rmSync(folder, { recursive: true }));

const scripts = rootScripts();
for (const [name, text] of scripts) writeFileSync(join(folder, name), text);
const names = [...scripts.keys()];

/** Whose text is in some script of the collection. A new one gets its scripts there, then its line here. */
const collected = [
  'src/fleet/apply/reboot.ts',
  'src/fleet/facts/probes/changes.ts',
  'src/fleet/facts/probes/disk.ts',
  'src/fleet/facts/probes/docker.ts',
  'src/fleet/facts/probes/driver.ts',
  'src/fleet/facts/probes/files.ts',
  'src/fleet/facts/probes/gpus.ts',
  'src/fleet/facts/probes/host-lock.ts',
  'src/fleet/facts/probes/kernels.ts',
  'src/fleet/facts/probes/machine.ts',
  'src/fleet/facts/probes/manager.ts',
  'src/fleet/facts/probes/others.ts',
  'src/fleet/facts/probes/ours-cdi.ts',
  'src/fleet/facts/probes/ours-packages.ts',
  'src/fleet/facts/probes/ours-sources.ts',
  'src/fleet/facts/probes/ours.ts',
  'src/fleet/facts/probes/site-ca.ts',
  'src/fleet/facts/probes/texts.ts',
  'src/shared/health/cuda/script.ts',
  'src/shared/health/smi-script.ts',
  'src/manager/docker/agent-start.ts',
  'src/manager/gpus/kernel-watch.ts',
  'src/manager/host-mode/vacate-script.ts',
  'src/manager/tenants/end-processes.ts',
  'src/fleet/packages/apt/apt.ts',
  'src/fleet/packages/apt/contrib.ts',
  'src/fleet/packages/apt/download.ts',
  'src/fleet/packages/apt/driver.ts',
  'src/fleet/packages/apt/folder/from-folder.ts',
  'src/fleet/packages/apt/folder/gather.ts',
  'src/fleet/packages/apt/folder/index.ts',
  'src/fleet/packages/apt/headers.ts',
  'src/fleet/packages/apt/install.ts',
  'src/fleet/packages/apt/installed.ts',
  'src/fleet/packages/apt/layouts.ts',
  'src/fleet/packages/apt/prelude.ts',
  'src/fleet/packages/apt/removal/packages.ts',
  'src/fleet/packages/apt/removal/source.ts',
  'src/fleet/packages/apt/request.ts',
  'src/fleet/packages/apt/simulation/functions.ts',
  'src/fleet/packages/apt/simulation/scratch.ts',
  'src/fleet/packages/apt/simulation/script.ts',
  'src/fleet/packages/apt/source.ts',
  'src/fleet/packages/apt/trust.ts',
  'src/fleet/packages/dnf/dnf.ts',
  'src/fleet/packages/dnf/downloader.ts',
  'src/fleet/packages/dnf/downloads.ts',
  'src/fleet/packages/dnf/driver.ts',
  'src/fleet/packages/dnf/folder/flat.ts',
  'src/fleet/packages/dnf/folder/from-folder.ts',
  'src/fleet/packages/dnf/folder/gather.ts',
  'src/fleet/packages/dnf/folder/index.ts',
  'src/fleet/packages/dnf/folder/write-index.ts',
  'src/fleet/packages/dnf/headers.ts',
  'src/fleet/packages/dnf/install.ts',
  'src/fleet/packages/dnf/installed.ts',
  'src/fleet/packages/dnf/needs/builder.ts',
  'src/fleet/packages/dnf/needs/epel.ts',
  'src/fleet/packages/dnf/needs/toolset.ts',
  'src/fleet/packages/dnf/prelude.ts',
  'src/fleet/packages/dnf/put-source.ts',
  'src/fleet/packages/dnf/removal/packages.ts',
  'src/fleet/packages/dnf/removal/source.ts',
  'src/fleet/packages/dnf/request.ts',
  'src/fleet/packages/dnf/simulation/answers.ts',
  'src/fleet/packages/dnf/simulation/functions.ts',
  'src/fleet/packages/dnf/simulation/scratch.ts',
  'src/fleet/packages/dnf/simulation/script.ts',
  'src/fleet/packages/dnf/source.ts',
  'src/fleet/packages/dnf/trust.ts',
  'src/fleet/packages/libraries.ts',
  'src/fleet/packages/lock.ts',
  'src/fleet/packages/offline/fetched.ts',
  'src/fleet/packages/package-record.ts',
  'src/fleet/packages/proxy.ts',
  'src/fleet/packages/set-aside.ts',
  'src/fleet/packages/shell.ts',
  'src/cli/setup/hosts/give-key.ts',
  'src/cli/setup/hosts/look-around.ts',
  'src/fleet/ssh/session/bootstrap.ts',
  'src/fleet/ssh/session/follow-change.ts',
  'src/fleet/ssh/session/frames.ts',
  'src/fleet/ssh/session/lock.ts',
  'src/fleet/ssh/session/socket-agent.ts',
  'src/fleet/ssh/session/start-change.ts',
  'src/fleet/ssh/session/upload.ts',
  'src/fleet/steps/docker.ts',
  'src/fleet/steps/docker/config-script.ts',
  'src/fleet/steps/docker/engine-script.ts',
  'src/fleet/steps/driver/kernels.ts',
  'src/fleet/steps/driver/runfile/persistenced.ts',
  'src/fleet/steps/driver/runfile/register.ts',
  'src/fleet/steps/driver/runfile/scripts.ts',
  'src/fleet/steps/driver/scripts.ts',
  'src/fleet/steps/driver/services.ts',
  'src/fleet/steps/driver/unload.ts',
  'src/fleet/steps/image.ts',
  'src/fleet/steps/manager-scripts.ts',
  'src/fleet/steps/manager/drained.ts',
  'src/fleet/steps/manager/leftovers.ts',
  'src/fleet/steps/manager/secrets.ts',
  'src/fleet/steps/remove/daemon-json-script.ts',
  'src/fleet/steps/remove/machine-scripts.ts',
  'src/fleet/steps/remove/packages.ts',
  'src/fleet/steps/supplies/bring-agent.ts',
  'src/fleet/steps/supplies/load-images.ts',
  'src/fleet/steps/toolkit/cdi.ts',
];

/** What looks like shell text and is none of ours that a host gets. */
const others = {
  'src/fleet/apply/proof/await-manager.ts': 'two programs, one after the other',
  'practice/azure/world/idle-agent.ts': 'a capability that an agent tells of',
  'src/cli/commands/ssh/exec.ts': "the user's own command",
  'src/shared/health/probe.ts': 'hands on the look at the GPUs',
  'src/fleet/inventory/secret.ts': "the user's own command",
  'src/manager/docker/job-user.ts': "a login shell's path",
  'src/manager/host-mode/unit.ts': 'one program',
  'src/manager/host-mode/vacate.ts': 'collected',
  'src/manager/registration/register-by-config.ts': 'collected',
  'src/fleet/packages/apt/simulation/answers.ts': 'what a person types',
  'src/cli/render/completion.ts': 'for the shell of the admin; its own test runs it',
  'src/fleet/ssh/connect/dial-command.ts': "ssh_config's own command",
  'src/fleet/ssh/session/start.ts': 'a sentence',
  'src/fleet/ssh/session/sudo.ts': 'a sentence',
  'src/fleet/ssh/wire/openssh-way.ts': 'one program of the admin; its own test runs it',
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
