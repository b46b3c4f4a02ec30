import { expect, it } from 'vitest';

import { readingOf } from '../../../../src/fleet/facts/probe.ts';
import { managerStatusProbe } from '../../../../src/fleet/facts/probes/files.ts';

it.each([
  ['another schema', 'present\n{"schema":2}'],
  ['null', 'present\nnull'],
  ['no file', ''],
])('no status of the manager from %s', (_, text) => {
  expect(managerStatusProbe.parse(text)).toEqual({ status: undefined, release: undefined });
});

it('half a file is unknown', () => {
  const stdout = 'present\n{"schema":1,\nend\n';
  expect(
    readingOf(managerStatusProbe, { code: 0, stdout, stderr: '', durationMs: 1, timedOut: false }),
  ).toEqual({ kind: 'unknown', why: 'its answer is not understood' });
});

it('the release of a manager whose status cannot be parsed', () => {
  const text = 'present\n{"schema":7,"version":"0.9.0","protocol":9,"slots":"none"}';
  expect(managerStatusProbe.parse(text)).toEqual({
    status: undefined,
    release: { version: '0.9.0', protocol: 9 },
  });
});
