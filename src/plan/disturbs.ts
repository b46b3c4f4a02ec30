import type { Change, Disturbs, Shape } from '../steps/change.ts';

const order: readonly Disturbs[] = ['nothing', 'new-containers', 'containers', 'machine'];

/** True when `disturbs` is no worse than `bound`. */
export function atMost(disturbs: Disturbs, bound: Disturbs): boolean {
  return order.indexOf(disturbs) <= order.indexOf(bound);
}

/** The worst that any of these does. */
function worst(changes: readonly (Change | Shape)[]): Disturbs {
  return changes.reduce<Disturbs>(
    (most, { disturbs }) => (atMost(disturbs, most) ? most : disturbs),
    'nothing',
  );
}

/** Running jobs would be hurt, so our agents are drained first. */
export function needsDrain(changes: readonly (Change | Shape)[]): boolean {
  return !atMost(worst(changes), 'new-containers');
}
