import type { Change, Disturbs, Shape, StepName } from '../../../../src/fleet/steps/change.ts';

interface Details {
  readonly step?: StepName;
  readonly disturbs?: Disturbs;
  readonly reboot?: boolean;
  readonly durable?: boolean;
}

/** Returns a change whose script is its id. */
export function change(
  id: string,
  { step = 'docker', disturbs = 'nothing', reboot = false, durable = true }: Details = {},
): Change {
  return {
    kind: 'change',
    id,
    step,
    title: `do ${id}`,
    why: `${id} is missing`,
    disturbs,
    actions: reboot
      ? [{ kind: 'reboot', timeoutS: 600 }]
      : [{ kind: 'run', script: id, durable, timeoutS: 60, writes: [] }],
  };
}

export function shape(step: StepName, disturbs: Disturbs = 'nothing'): Shape {
  return { kind: 'shape', step, title: `whatever ${step} needs`, until: 'driver', disturbs };
}
