import { failFunction } from '../../../../../src/shared/base/shell.ts';
import { unloadModule, replaceModule } from '../../../../../src/fleet/steps/driver/module.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';

const unloads = `read -r users <"/sys/module/$2/refcnt"
if [ "$users" = 0 ]; then rm -r "/sys/module/$2"; else echo "modprobe: FATAL: Module $2 is in use." >&2; exit 1; fi`;
const root = { prefix: '' };
const uses = (users: string) => (host: ScratchHost) => {
  host.program('modprobe', unloads);
  for (const [name, count] of [
    ['nvidia', users],
    ['nvidia_uvm', '0'],
    ['ext4', '0'],
  ] as const)
    host.file(`/sys/module/${name}/refcnt`, `${count}\n`).file(`/sys/module/${name}/version`, '580.95.05\n');
};
const unloading = ['modprobe -r nvidia_uvm', 'modprobe -r nvidia'];
const uvmGone = Object.fromEntries(
  ['', '/refcnt', '/version'].map((file) => [`/sys/module/nvidia_uvm${file}`, 'gone']),
);
const gone = {
  ...uvmGone,
  ...Object.fromEntries(['', '/refcnt', '/version'].map((file) => [`/sys/module/nvidia${file}`, 'gone'])),
};
/** Modules after the removal of a driver, and before the installation of another one. */
export const moduleCases: readonly ScriptCase[] = [
  {
    name: 'unloads unused modules',
    script: unloadModule(root),
    given: uses('0'),
    after: { calls: unloading, files: gone },
  },
  {
    name: 'keeps a module that is in use, and reports it',
    script: unloadModule(root),
    given: uses('1'),
    after: {
      stdout: 'the NVIDIA module is in use and stays loaded until the next boot\n',
      stderr: 'modprobe: FATAL: Module nvidia is in use.\n',
      calls: unloading,
      files: uvmGone,
    },
  },
  {
    name: 'does nothing if no module is loaded',
    script: `${failFunction}\n${replaceModule(root)}`,
    given: (host) => host.program('modprobe', unloads),
    after: {},
  },
  {
    name: 'unloads the module of a removed driver',
    script: `${failFunction}\n${replaceModule(root)}`,
    given: uses('0'),
    after: { calls: unloading, files: gone },
  },
  {
    name: 'fails if the module is in use again',
    script: `${failFunction}\n${replaceModule(root)}`,
    given: uses('1'),
    after: {
      code: 1,
      stderr: `modprobe: FATAL: Module nvidia is in use.
failed: the module of the removed driver is in use again
expected: a module that can be unloaded
seen: 580.95.05
next: run again: the plan will include a reboot
`,
      calls: unloading,
      files: uvmGone,
    },
  },
];
