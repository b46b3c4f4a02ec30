import { describe, expect, it } from 'vitest';

import { outcomeText } from '../../../../src/cli/render/outcome.ts';

describe('the result as text', () => {
  it('names every host, failures last', () => {
    const healthy = { state: 'healthy', cause: '', next: '' } as const;
    expect(
      outcomeText(
        [
          {
            host: 'down',
            state: 'unreachable',
            changes: 0,
            problem: { code: 'ssh.timeout', what: 'no answer within 10 s' },
          },
          {
            host: 'b',
            state: 'changed',
            changes: 1,
            verdict: { state: 'degraded', cause: 'persistence mode is off', next: 'switch it on' },
          },
          { host: 'a', state: 'ok', changes: 0, verdict: healthy },
          {
            host: 'busy',
            state: 'changed',
            changes: 2,
            verdict: { ...healthy, note: 'running a job from before the last change: busy-0 (train)' },
          },
          { host: 'c', state: 'failed', changes: 2, problem: { code: 'bug', what: 'no free space' } },
        ],
        { color: false, width: 80 },
      ),
    ).toBe(`a     healthy      no changes
busy  healthy      2 changes; running a job from before the last change: busy-0
                   (train)
b     degraded     1 change; persistence mode is off; next: switch it on
down  unreachable  no answer within 10 s
c     failed       2 changes, then: no free space

5 hosts: 1 unreachable, 1 degraded, 2 healthy, 1 failed
`);
  });

  it('says "no changes" for a fleet that is up to date', () => {
    expect(outcomeText([{ host: 'a', state: 'ok', changes: 0 }], { color: false, width: 80 })).toContain(
      '1 host: 1 ok · no changes',
    );
  });
});
