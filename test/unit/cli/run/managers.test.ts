import { expect, test } from 'vitest';

import { answersText } from '../../../../src/cli/run/managers.ts';
import { drainText } from '../../../../src/cli/commands/managers.ts';
import { managerStatus } from '../../../support/manager-status.ts';

const slot = {
  gpus: [],
  pool: 'gpu-lab',
  since: '2026-11-21T00:00:00Z',
  jobsRun: 0,
};
const drained = (host: string, job?: string) =>
  managerStatus({
    slots: [
      { ...slot, slot: '0', agent: `${host}-0`, state: 'drained' },
      {
        ...slot,
        slot: '1',
        agent: `${host}-1`,
        ...(job === undefined ? { state: 'drained' } : { state: 'busy', job }),
      },
    ],
    drains: [],
  });

test('hosts that answer alike share a line; each host that differs has its own', () => {
  const hosts = Array.from({ length: 300 }, (_, index) => `gpu-${String(index).padStart(3, '0')}`);
  const answers = hosts.map((host, index) => ({
    host,
    value: drained(host, index === 7 ? 'train 12' : undefined),
  }));
  const text = answersText([...answers, { host: 'down', problem: { code: 'bug', what: 'y' } }], drainText);
  expect(text).toBe(
    'gpu-[000-006,008-299]: its 2 slots take no more jobs: 2 drained\ngpu-007: its 2 slots take no more jobs: 1 drained; still running: slot 1 (train 12)\n',
  );
});

test('answers that differ only in the name of the host are equal', () => {
  const answers = ['gpu-1', 'gpu-2'].map((host) => ({ host, value: { agents: `${host}-0, ${host}-1` } }));
  expect(answersText(answers, (host, { agents }) => `${host}: takes over ${agents}\n`)).toBe(
    'gpu-1, gpu-2: takes over {host}-0, {host}-1\n',
  );
});
