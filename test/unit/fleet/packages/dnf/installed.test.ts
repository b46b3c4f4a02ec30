import { dnf } from '../../../../../src/fleet/packages/dnf/dnf.ts';
import { describe, expect, it } from 'vitest';
import fc from 'fast-check';

const packages = `docker-ce 3 29.7.2 1.el9 x86_64
runc 4 1.1.12 1.el9 x86_64
containerd.io 0 1.7.27 3.1.el9 x86_64
nvidia-driver-cuda 3 580.95.05 1.el9 x86_64
kernel-core 0 5.14.0 503.11.1.el9_5 x86_64
kernel-core 0 5.14.0 570.12.1.el9_6 x86_64
gpg-pubkey (none) 621e9f35 58adea78 (none)
error: rpmdb: damaged
`;

describe('the installed packages of rpm', () => {
  it('have names with epochs, and kernels also their full names', () => {
    expect(dnf.installed.parse(packages)).toEqual({
      packages: {
        'docker-ce': '3:29.7.2-1.el9',
        runc: '4:1.1.12-1.el9',
        'containerd.io': '1.7.27-3.1.el9',
        'nvidia-driver-cuda': '3:580.95.05-1.el9',
        'kernel-core': '5.14.0-570.12.1.el9_6',
        'kernel-core-5.14.0-503.11.1.el9_5.x86_64': '5.14.0-503.11.1.el9_5',
        'kernel-core-5.14.0-570.12.1.el9_6.x86_64': '5.14.0-570.12.1.el9_6',
      },
      held: [],
      awaitsReboot: false,
    });
  });

  it.each([
    ['docker-ce-3:29.7.2-1.el9.*', ['docker-ce']],
    ['containerd.io-0:1.7.27-3.1.el9.*', ['containerd.io']],
    ['docker-ce-29.7.2-1.el9.x86_64', ['docker-ce']],
    ['docker-ce-29.7.?', ['docker-ce']],
    ['*nvidia*580*', ['nvidia-driver-cuda']],
    ['runc', ['runc']],
    ['docker-ce-3:29.7.1-1.el9.*', []],
    ['docker', []],
    ['docker.ce', []],
    ['(docker-ce', []],
  ])('are held by the line %s of versionlock', (lock, held) => {
    expect(dnf.installed.parse(`${packages}lock ${lock}\n`).held).toEqual(held);
  });

  it('need a reboot if a package is newer than the boot', () => {
    expect(dnf.installed.parse(`${packages}reboot\n`).awaitsReboot).toBe(true);
  });

  it('are parsed from any output', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (text, lock) => {
        expect(dnf.installed.parse(`${packages}${text}\nlock ${lock}`).packages).toMatchObject({
          runc: '4:1.1.12-1.el9',
        });
      }),
    );
  });
});
