import { describe, expect, it } from 'vitest';

import { driverProbe } from '../../../../../src/fleet/facts/probes/driver.ts';

describe('what the driver probe prints', () => {
  it.each([
    [
      'open',
      'nvrm NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Tue Sep 23\nloaded 580.95.05',
      { loaded: '580.95.05', open: true },
    ],
    [
      'proprietary',
      'nvrm NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08\nloaded 535.161.08',
      { loaded: '535.161.08', open: false },
    ],
    ['none, nouveau instead', 'nouveau', { loaded: undefined, open: undefined, nouveau: true }],
    [
      'Secure Boot with keys in each state, and invalid states',
      'secure-boot 1\nmok configured enrolled /etc/keys/ours.der\nmok usual requested /var/lib/dkms/mok.pub\nmok usual stolen /a\nmok usual new $(a)',
      {
        secureBoot: true,
        keys: [
          { path: '/etc/keys/ours.der', configured: true, state: 'enrolled' },
          { path: '/var/lib/dkms/mok.pub', configured: false, state: 'requested' },
        ],
      },
    ],
    ['Secure Boot off', 'secure-boot 0', { secureBoot: false }],
    ['Secure Boot unreadable', 'secure-boot ', { secureBoot: undefined }],
  ])('the driver: %s', (_, text, expected) => {
    expect(driverProbe.parse(text)).toMatchObject(expected);
  });

  it('the services of the driver, as systemd shows them', () => {
    const text =
      'loaded 580.95.05\nId=nvidia-persistenced.service\nActiveState=inactive\nUnitFileState=static\nExecStart={ path=/usr/bin/nvidia-persistenced ; argv[]=/usr/bin/nvidia-persistenced --user x --no-persistence-mode --verbose ; }\n\nId=nvidia-fabricmanager.service\nActiveState=failed\nUnitFileState=disabled\n';
    expect(driverProbe.parse(text)).toMatchObject({
      loaded: '580.95.05',
      services: [
        { unit: 'nvidia-persistenced.service', file: 'static', active: 'inactive', forgets: true },
        { unit: 'nvidia-fabricmanager.service', file: 'disabled', active: 'failed' },
      ],
    });
  });
});
