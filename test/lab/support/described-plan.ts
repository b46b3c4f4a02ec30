import type { HostPlan } from '../../../src/fleet/plan/fleet-plan.ts';
import type { Change } from '../../../src/fleet/steps/change.ts';

export const changesOf = ({ stages }: HostPlan): Change[] =>
  stages.flat().filter((change) => change.kind === 'change');

export const titles = (plan: HostPlan): string[] => changesOf(plan).map(({ title }) => title);

/** Titles, and below each what it consists of: `- docker.io 26.1.5`. */
export function described(plan: HostPlan): string[] {
  const signs = { add: '+', change: '~', remove: '-' } as const;
  return changesOf(plan).flatMap(({ title, details = [] }) => [
    title,
    ...details.map(({ marker, text }) => `${signs[marker]} ${text}`),
  ]);
}

/** Names of the packages that go. */
export const removed = (plan: HostPlan): (string | undefined)[] =>
  described(plan)
    .filter((line) => line.startsWith('- '))
    .map((line) => line.split(' ')[1]);
