import { describe, expect, test } from 'vitest';

import type { ManagerStatus, SlotStatus } from '../../../../src/shared/contract/status.ts';
import { heldNames } from '../../../../src/fleet/client/take-names.ts';
import { adoptText, heldLines } from '../../../../src/cli/commands/managers.ts';

const slot = (name: string, code?: string): SlotStatus => ({
  slot: name,
  agent: `h200-1-${name}`,
  state: code === undefined ? 'idle' : 'backing-off',
  gpus: [],
  pool: 'gpu-lab',
  since: '2026-11-21T12:00:00Z',
  jobsRun: 0,
  ...(code === undefined ? {} : { code, cause: `the pool already has an agent h200-1-${name}` }),
});
const status = {
  slots: [slot('0', 'agent.name-held'), slot('1'), slot('2', 'azure.auth'), slot('3', 'agent.name-held')],
} as unknown as ManagerStatus;

test.each([
  ['all of the host', [], ['0', '3']],
  ['one slot', ['3'], ['3']],
  ['one slot, by its agent', ['h200-1-3'], ['3']],
  ['a slot whose name is free', ['1'], []],
])('names to take over: %s', (_, chosen, found) => {
  expect(heldNames(status, chosen).map(({ slot: name }) => name)).toEqual(found);
});

test('an unknown slot is named with the slots of the host', () => {
  expect(() => heldNames(status, ['7'])).toThrow(
    expect.objectContaining({
      problem: expect.objectContaining({
        what: 'there is no slot 7',
        expected: 'slots: 0, 1, 2, 3, or the names of their agents',
      }) as object,
    }) as Error,
  );
});

describe('the output of adopt', () => {
  test('lists the names, why they are held, and the effect of taking them over', () => {
    expect(heldLines([{ host: 'h200-1', value: heldNames(status, ['0']) }])).toEqual([
      'h200-1 slot 0: the pool already has an agent h200-1-0',
      expect.stringContaining('gives it a new key') as string,
      expect.stringContaining('online') as string,
    ]);
  });

  test('without names to take over there is no warning', () => {
    expect(heldLines([{ host: 'h200-1', value: [] }])).toEqual([]);
    expect(adoptText('h200-1', [])).toBe('h200-1: agent names are free\n');
  });
});
