import { expect, it } from 'vitest';

import { dockerProbe } from '../../../../../src/fleet/facts/probes/docker.ts';

const cdiOf = (stdout: string) => dockerProbe.parse(stdout).toolkitCdi;

const toolkit = 'time 1 20.5 /usr/bin/nvidia-ctk\n';

it.each([
  ['older than the toolkit', `${toolkit}time 20.4 21 /etc/cdi/a b.yaml\ncdi-spec /etc/cdi/a b.yaml\n`, true],
  ['newer', `${toolkit}time 20.6 1 /etc/cdi/a.yaml\ncdi-spec /etc/cdi/a.yaml\n`, false],
  [
    'one of two newer',
    `${toolkit}time 9 9 /etc/cdi/a\ntime 21 9 /etc/cdi/b\ncdi-spec /etc/cdi/a\ncdi-spec /etc/cdi/b\n`,
    false,
  ],
  [
    'older, beside a newer one of another vendor',
    `${toolkit}time 9 9 /etc/cdi/a\ntime 21 9 /etc/cdi/b\ncdi-spec /etc/cdi/a\n`,
    true,
  ],
  ['none', toolkit, false],
  ['of another user, without a toolkit', 'time 9 9 /etc/cdi/a\ncdi-spec /etc/cdi/a\n', false],
])('the CDI specification: %s', (_, text, expected) => {
  expect(cdiOf(text).cdiOlder).toBe(expected);
});

it.each([
  ['the same instances', 'cdi-spec /etc/cdi/a\ncdi-mig 13\ncdi-mig 12\nmig 12\nmig 13\n', false],
  ['another instance', 'cdi-spec /etc/cdi/a\ncdi-mig 12\ncdi-mig 13\nmig 12\nmig 21\n', true],
  ['MIG enabled later', 'cdi-spec /etc/cdi/a\nmig 12\nmig 13\n', true],
  ['MIG disabled later', 'cdi-spec /etc/cdi/a\ncdi-mig 12\n', true],
  ['MIG and no instance', 'cdi-spec /etc/cdi/a\ncdi-mig 1\ncdi-mig 2\n', false],
  ['no specification', 'mig 12\n', false],
])('the CDI specification and MIG: %s', (_, text, expected) => {
  expect(cdiOf(text).cdiMigDiffers).toBe(expected);
});
