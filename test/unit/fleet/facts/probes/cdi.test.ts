import { expect, it } from 'vitest';

import { dockerProbe } from '../../../../../src/fleet/facts/probes/docker.ts';

const cdiOf = (stdout: string) => dockerProbe.parse(stdout).toolkitCdi;

it.each([
  ['older than the toolkit', 'toolkit-time 20.5\ncdi-spec\ncdi-time 20.4\n', true],
  ['newer', 'toolkit-time 20.5\ncdi-spec\ncdi-time 20.6\n', false],
  ['one of two newer', 'toolkit-time 20.5\ncdi-spec\ncdi-time 9\ncdi-spec\ncdi-time 21\n', false],
  ['none', 'toolkit-time 20.5\n', false],
  ['of another user, without a toolkit', 'cdi-spec\ncdi-time 9\n', false],
])('the CDI specification: %s', (_, text, expected) => {
  expect(cdiOf(text).cdiOlder).toBe(expected);
});

it.each([
  ['the same instances', 'cdi-spec\ncdi-mig 13\ncdi-mig 12\nmig 12\nmig 13\n', false],
  ['another instance', 'cdi-spec\ncdi-mig 12\ncdi-mig 13\nmig 12\nmig 21\n', true],
  ['MIG enabled later', 'cdi-spec\nmig 12\nmig 13\n', true],
  ['MIG disabled later', 'cdi-spec\ncdi-mig 12\n', true],
  ['MIG and no instance', 'cdi-spec\ncdi-mig 1\ncdi-mig 2\n', false],
  ['no specification', 'mig 12\n', false],
])('the CDI specification and MIG: %s', (_, text, expected) => {
  expect(cdiOf(text).cdiMigDiffers).toBe(expected);
});
