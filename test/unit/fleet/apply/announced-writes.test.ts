// The scripts of all cases run in a folder instead of the machine's root, with stand-ins for all programs. Each path that
// they write themselves must be announced by their change.
import { afterEach, describe, expect, it } from 'vitest';

import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { allSteps } from '../../../../src/fleet/steps/all.ts';
import type { Action, Change } from '../../../../src/fleet/steps/change.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { hangsMs, ScratchHost } from '../../../support/scratch/host.ts';
import { cases as hostStackCases } from '../steps/host-stack-cases.ts';
import { managerCases } from '../steps/manager/cases.ts';

type RunAction = Extract<Action, { kind: 'run' }>;
type Case = readonly [string, Facts, Desired, ...unknown[]];

const run = { flags: ['-eu'], args: [], input: '', env: {}, umask: '022', limitMs: hangsMs };

/** Files there are gone after the next boot, and are not announced. */
const passing = ['/run/azp-fleet', '/tmp'];

/** Output of a host's programs: each package is installed at the desired version, each service starts. */
const answers = (version: string, digest: string): Readonly<Record<string, string>> => ({
  'apt-cache': `shift; for name; do echo "$name | ${version} | x"; done`,
  'dpkg-query': `echo "installed ${version}"`,
  // The source of the archive's main component; contrib is missing.
  'apt-get': `case $* in *'Component: main') echo "http://deb.debian.org/debian bookworm /etc/apt/main.sources:1" ;; esac`,
  'apt-mark': '',
  chown: '',
  // Each module is built.
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
  // The installer of a .run file, whose files are there already.
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

/** Creates a host with files that scripts replace, move and remove. */
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

/** Returns the scripts of a table of cases, each once, by the change's id. */
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

/** The stand-in host has only the programs of apt's systems. */
const onApt = hostStackCases.filter(([, { os }]) => ['debian', 'ubuntu'].includes(os.id));

const scripts = new Map([
  ...scriptsOf(onApt, 'driver', 'docker', 'toolkit'),
  ...scriptsOf(managerCases, 'image', 'manager'),
]);

const below = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

describe('a script writes only announced paths', () => {
  it.each([...scripts])('%s', async (_, { script, writes }) => {
    const { files, code, stderr } = await hostFor(script).run(script, run);
    const paths = Object.entries(files).flatMap(([path, what]) =>
      // A parent folder of an announced path may be created.
      what.endsWith(' /') && writes.some((each) => below(each, path)) ? [] : [path],
    );
    expect(paths.filter((path) => ![...writes, ...passing].some((each) => below(path, each)))).toEqual([]);
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  });
});
