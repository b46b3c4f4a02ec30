// The scripts of all cases run in a folder that they take for the machine, with programs that say yes to everything. What
// they write themselves lies where their change has announced it.
import { afterEach, describe, expect, it } from 'vitest';

import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { allSteps } from '../../../../src/fleet/steps/all.ts';
import type { Action, Change } from '../../../../src/fleet/steps/change.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { ScratchHost } from '../../../support/scratch/host.ts';
import { cases as hostStackCases } from '../steps/host-stack-cases.ts';
import { managerCases } from '../steps/manager/cases.ts';

type RunAction = Extract<Action, { kind: 'run' }>;
type Case = readonly [string, Facts, Desired, ...unknown[]];

const run = { flags: ['-eu'], args: [], input: '', env: {}, umask: '022', limitMs: 30_000 };

/** What is written there is gone with the next boot, and not announced. */
const passing = ['/run/azp-fleet', '/tmp'];

/** What programs of a host answer: each package is there at the wanted version, each service starts. */
const answers = (version: string, digest: string): Readonly<Record<string, string>> => ({
  'apt-cache': `echo "x | ${version} | x"`,
  'dpkg-query': `echo "installed ${version}"`,
  // Where the archive's main component comes from; its contrib is not there yet.
  'apt-get': `case $* in *'Component: main') echo "http://deb.debian.org/debian bookworm /etc/apt/main.sources:1" ;; esac`,
  'apt-mark': '',
  chown: '',
  // Each is built.
  dkms: '[ "$1" != status ] || echo installed',
  docker: 'echo 29.7.2',
  dockerd: 'echo --validate',
  dpkg: '',
  'dpkg-deb': 'tar -cf - -C /usr/share/package .',
  id: '',
  journalctl: '',
  modinfo: '',
  modprobe: '',
  'nvidia-ctk': '',
  'nvidia-smi': `echo "${version}"`,
  // The installer of a .run file; what it installs is there already.
  sh: '',
  sync: '',
  sha256sum: `echo "${digest}  -"`,
  systemctl: '[ "$1" != cat ] || [ "$2" != nvidia-cdi-refresh.service ]',
  uname: 'echo 6.1.0-1-amd64',
  'update-ca-certificates': '',
  'update-initramfs': '',
  '/opt/azp-fleet/versions/old/node': '',
  '/usr/lib/apt/apt-helper': 'for file; do case $file in /*) echo key >"$file" ;; esac; done',
});

const hosts: ScratchHost[] = [];
afterEach(() => hosts.splice(0).forEach((host) => host.remove()));

/** A host with something of all that this script replaces, moves and removes. */
function hostFor(script: string): ScratchHost {
  const host = new ScratchHost();
  hosts.push(host);
  const [, runVersion, runFile = '', runDigest] =
    /^version=(\S+) file=(\S+) sha256=([0-9a-f]{64}) /m.exec(script) ?? [];
  const version = runVersion ?? `${/^confirm \S+ (\S+)$/m.exec(script)?.[1] ?? ''}9`;
  const digest = runDigest ?? /^from=([0-9a-f]{64}) /m.exec(script)?.[1];
  if (runVersion !== undefined)
    host.file(runFile, '').file('/var/lib/nvidia/log', `driver (${runVersion})\n`);
  for (const [name, body] of Object.entries(answers(version, digest ?? ''))) host.program(name, body);
  if (runDigest === undefined && digest !== undefined) host.file('/etc/docker/daemon.json', 'before');
  return host
    .folder('/etc/modprobe.d', '/lib/modules/6.1.0-1-amd64/build', '/var/lib/dpkg/updates')
    .file('/lib/modules/6.1.0-38-amd64/modules.dep', 'updates/dkms/nvidia.ko:\n')
    .file('/lib/modules/6.1.0-40-amd64/modules.dep', 'updates/dkms/nvidia.ko:\n')
    .file('/etc/apt/sources.list.d/docker.list', 'deb https://download.docker.com/linux/debian x stable')
    .file(
      '/etc/apt/sources.list.d/cuda.list',
      'deb https://developer.download.nvidia.com/compute/cuda/repos x /',
    )
    .file('/etc/apt/main.sources', 'Signed-By: /usr/share/keyrings/debian.gpg')
    .file('/usr/share/package/usr/share/keyrings/cuda-archive-keyring.gpg', 'key')
    .file('/etc/ssl/certs/ca-certificates.crt', 'authorities')
    .file('/etc/azp-fleet/token.next', 'next')
    .file('/etc/azp-fleet/registries', 'passwords')
    .file('/etc/azp-fleet/webhook', 'address')
    .file('/etc/cdi/old.yaml', 'kind: nvidia.com/gpu\nlibEGL_nvidia.so.1 libnvidia-encode.so.1')
    .file('/proc/version', 'Linux version 6.1.0 (gcc-12 (Debian 12))')
    .file('/proc/locks')
    .file('/sys/module/nvidia/version', runVersion ?? '580.95.05')
    .folder('/opt/azp-fleet/versions/older')
    .link('/opt/azp-fleet/current', '/opt/azp-fleet/versions/old');
}

/** The scripts that a table of cases leads to, each once, by the change's id. */
function scriptsOf(table: readonly Case[], ...names: readonly string[]): Map<string, RunAction> {
  const steps = allSteps.filter(({ name }) => names.includes(name));
  const changes = table.flatMap(([, facts, desired]) =>
    steps.flatMap((step) =>
      [...step.plan(facts, desired)].filter((item): item is Change => 'actions' in item),
    ),
  );
  return new Map(
    changes.flatMap(({ id, actions }) =>
      actions.flatMap((action) => (action.kind === 'run' ? [[id, action] as const] : [])),
    ),
  );
}

/** The stand-in host has the programs of apt's systems alone. */
const onApt = hostStackCases.filter(([, { os }]) => ['debian', 'ubuntu'].includes(os.id));

const scripts = new Map([
  ...scriptsOf(onApt, 'driver', 'docker', 'toolkit'),
  ...scriptsOf(managerCases, 'image', 'manager'),
]);

const below = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

describe('a script writes by itself only where its change has announced it', () => {
  it.each([...scripts])('%s', async (_, { script, writes }) => {
    const { files, code, stderr } = await hostFor(script).run(script, run);
    const paths = Object.entries(files).flatMap(([path, what]) =>
      // A folder on the way to what is announced may have to be made.
      what.endsWith(' /') && writes.some((each) => below(each, path)) ? [] : [path],
    );
    expect(paths.filter((path) => ![...writes, ...passing].some((each) => below(path, each)))).toEqual([]);
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  });
});
