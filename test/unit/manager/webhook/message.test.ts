import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Episode } from '../../../../src/manager/webhook/episodes.ts';
import { changeMessage, testMessage } from '../../../../src/manager/webhook/message.ts';

const sender = { host: 'h1', at: '2026-11-22T07:41:09Z' };
const closed = (slot: string, what = 'GPU: it is gone'): Episode => ({
  key: `slot-closed ${slot}`,
  kind: 'slot-closed',
  since: '2026-11-22T07:41:03Z',
  slot,
  agent: `h1-${slot}`,
  pool: 'gpus',
  gpus: [`GPU-${slot}`],
  code: 'gpu.lost',
  what,
  next: 'reboot HOST',
});
const offline: Episode = {
  ...closed('0'),
  key: 'agent-offline 0',
  kind: 'agent-offline',
  code: 'agent.away',
  what: 'no agent is online',
};
const wait: Episode = {
  key: 'queue-wait gpus',
  kind: 'queue-wait',
  since: '2026-11-22T07:41:03Z',
  pool: 'gpus',
  code: 'queue.long-wait',
  what: 'a job had waited 45 min for an agent',
  next: 'add agents',
};

interface Message {
  readonly text: string;
  readonly events: readonly Record<string, unknown>[];
}
const message = (begun: readonly Episode[], ended: readonly Episode[] = []) =>
  JSON.parse(changeMessage({ begun, ended }, sender)) as Message;

test.each<[string, readonly Episode[], readonly Episode[], string]>([
  ['one slot', [closed('3')], [], 'h1: slot 3 is closed: GPU: it is gone. Next: reboot h1'],
  [
    'slots for one reason',
    [closed('0'), closed('1')],
    [],
    'h1: slots 0, 1 are closed: GPU: it is gone. Next: reboot h1',
  ],
  [
    'slots for two reasons',
    [closed('0'), closed('1', 'GPU: it is hot')],
    [],
    'h1: slot 0 is closed: GPU: it is gone. Next: reboot h1\nh1: slot 1 is closed: GPU: it is hot. Next: reboot h1',
  ],
  ['a slot that is open again', [], [closed('3')], 'h1: slot 3 is open again (since 2026-11-22T07:41:03Z)'],
  ['an agent', [offline], [], 'h1: agent h1-0 is offline: no agent is online. Next: reboot h1'],
  [
    'a queue',
    [wait],
    [],
    'h1: jobs wait long for pool gpus: a job had waited 45 min for an agent. Next: add agents',
  ],
  [
    'a queue that moves again',
    [],
    [wait],
    'h1: jobs no longer wait long for pool gpus (since 2026-11-22T07:41:03Z)',
  ],
])('text: %s', (_, begun, ended, text) => {
  expect(message(begun, ended).text).toBe(text);
});

test('events', () => {
  const { key: _, kind, ...rest } = closed('3');
  const { key: __, kind: other, ...waited } = wait;
  expect(message([closed('3')], [wait])).toMatchObject({
    schema: 1,
    host: 'h1',
    at: sender.at,
    events: [
      { state: 'begun', event: kind, ...rest, next: 'reboot h1' },
      { state: 'ended', event: other, ...waited },
    ],
  });
});

test('the text counts the rest of many slots, and the body stays small', () => {
  const many = Array.from({ length: 256 }, (_, index) => closed(String(index)));
  const { text, events } = message(many);
  expect(text).toContain('slots 0, 1, 2, 3, 4, 5, 6, 7 and 248 more are closed');
  expect(events).toHaveLength(16);
});

test('foreign text causes no mention, no link, no control sequence, and is limited', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 5000 }), { maxLength: 4 }), (said) => {
      const evil = ['<!channel>', '@all <https://evil.example|look>', '\u001b[2J\u202e', ...said].join(' ');
      const body = changeMessage({ begun: [closed('0', evil)], ended: [] }, sender);
      const { text } = JSON.parse(body) as Message;
      expect(text).not.toMatch(/[<>@\u001b\u202e]/);
      expect(text.length).toBeLessThanOrEqual(4000);
      const all = Array.from({ length: 64 }, (_, index) => closed(String(index), `${evil}${index}`));
      expect(changeMessage({ begun: all, ended: all }, sender).length).toBeLessThan(28_000);
      expect(body.length).toBeLessThan(28_000);
    }),
    { numRuns: 50 },
  );
});

test('a test message describes itself as a test', () => {
  expect(JSON.parse(testMessage(sender))).toEqual({
    text: 'h1: this is a test of the webhook; nothing has happened',
    schema: 1,
    ...sender,
    events: [{ event: 'test' }],
  });
});
