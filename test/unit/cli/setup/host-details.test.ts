import { execFileSync } from 'node:child_process';

import { expect, test } from 'vitest';

import { detailsScript, parseDetails } from '../../../../src/cli/setup/test-host.ts';

test('reads the hostname without its domain, and network mounts', () => {
  const output = [
    'h200-7.lab.example',
    'ext4 /',
    'tmpfs /run',
    'nfs4 /mnt/imagenet',
    'nfs /mnt/two\\040words',
    'fuse.sshfs /home/ann/\u001b[2J',
    'lustre /scratch',
    'nfs4 /mnt/imagenet',
  ].join('\n');
  expect(parseDetails(output)).toEqual({ hostname: 'h200-7', mounts: ['/mnt/imagenet', '/scratch'] });
});

test.each(['', '\n', 'localhost\n'])('%j names no machine', (output) => {
  expect(parseDetails(output)).toEqual({ hostname: undefined, mounts: [] });
});

test('the script runs on this machine', () => {
  const details = parseDetails(execFileSync('/bin/sh', ['-eu'], { input: detailsScript, encoding: 'utf8' }));
  const own = execFileSync('uname', ['-n'], { encoding: 'utf8' }).trim().split('.')[0];
  expect(details.hostname).toBe(own === 'localhost' ? undefined : own);
});
