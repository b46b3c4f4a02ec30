import type { HostAnswer, Report } from '../../../../src/cli/watch/state.ts';
import type { Size } from '../../../../src/cli/watch/view.ts';
import { hostDetail } from '../../../../src/fleet/status/detail.ts';
import { type Observation, statusRow } from '../../../../src/fleet/status/row.ts';
import type { ManagerStatus, SlotStatus } from '../../../../src/shared/contract/status.ts';
import type { Problem } from '../../../../src/shared/base/errors.ts';
import { agent, facts, host, now as hostNow, slot, status } from '../../fleet/status/observation.ts';

/** The monotonic clock of the tests, milliseconds. */
export const start = 1_000_000;

const gpus = ['GPU-1', 'GPU-2'].map((uuid, index) => ({
  uuid,
  name: 'NVIDIA H200',
  temperatureC: 40 + index,
  memoryUsedMiB: 1024,
  memoryTotalMiB: 143_771,
  utilizationPercent: 50 + index * 30,
}));

export const busy = (name: string, job: string, more: Partial<SlotStatus> = {}): SlotStatus =>
  slot(name, { state: 'busy', job, jobSince: '2026-11-20T09:30:00Z', ...more });

/** What the host of this name answers, with these slots and in this state of health. */
export function answerOf(
  name: string,
  {
    slots = [slot('0'), slot('1')],
    health = {},
    at = start,
  }: {
    readonly slots?: readonly SlotStatus[];
    readonly health?: Partial<ManagerStatus['health']>;
    readonly at?: number;
  } = {},
): HostAnswer {
  const named = slots.map((each, index) => ({
    ...each,
    agent: `${name}-${index}`,
    gpus: [`GPU-${index + 1}`],
  }));
  const checked = { ...status().health, gpus, ...health };
  const observation: Observation = {
    host: { ...host, name },
    facts: facts({ status: status({ host: name, slots: named, health: checked }) }),
  };
  const pool = new Map(
    named.map((each) => agent(each.slot, { name: each.agent })).map(([, of]) => [of.name, of]),
  );
  return {
    row: statusRow(observation, () => pool, hostNow),
    detail: hostDetail(observation, () => pool, hostNow),
    at,
    now: hostNow,
  };
}

export const answer = (...of: Parameters<typeof answerOf>): Report => {
  const found = answerOf(...of);
  return { kind: 'answer', answer: found, at: found.at };
};

/** The host of this name does not answer. */
export function lost(
  name: string,
  at: number,
  problem: Problem = { code: 'ssh.timeout', what: '192.0.2.1:22 does not answer', next: 'check the network' },
): Report {
  return { kind: 'lost', row: statusRow({ host: { ...host, name }, problem }, () => undefined, hostNow), at };
}

export const hot = {
  state: 'failed',
  findings: [
    {
      code: 'xid.79',
      gpu: 'GPU-1',
      severity: 'fail',
      what: 'the GPU has fallen off the bus',
      next: 'reboot the host',
    },
  ],
} as const;

export const size = (width: number, height: number, at = start): Size => ({
  width,
  height,
  paint: (_, text) => text,
  now: at,
  wall: Date.parse('2026-11-20T10:00:00Z') + at - start,
});
