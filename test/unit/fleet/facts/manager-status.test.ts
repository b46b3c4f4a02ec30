import { expect, it } from 'vitest';

import { managerStatusProbe } from '../../../../src/fleet/facts/probes/files.ts';

const frame = (stdout: string, code = 0) => ({ code, stdout, stderr: '', durationMs: 1, timedOut: false });

it.each([
  ['another schema', '{"schema":2}', 0],
  ['a partial file', '{"schema":1,', 0],
  ['null', 'null', 0],
  ['no file', '', 1],
])('no status of the manager from %s', (_, text, code) => {
  expect(managerStatusProbe.parse(frame(text, code))).toEqual({ status: undefined, release: undefined });
});

it('the release of a manager whose status cannot be parsed', () => {
  const text = '{"schema":7,"version":"0.9.0","protocol":9,"slots":"none"}';
  expect(managerStatusProbe.parse(frame(text))).toEqual({
    status: undefined,
    release: { version: '0.9.0', protocol: 9 },
  });
});
