import { defined } from '../../shared/base/defined.ts';
import {
  changeId,
  type Action,
  type Change,
  type Disturbs,
  type Shape,
  type StepName,
  type Description,
} from './change.ts';
import type { Refusal } from './step.ts';

interface Described extends Description {
  readonly title: string;
  readonly why: string;
  readonly disturbs: Disturbs;
}

/** One script as one change. Anything over a few seconds is durable: it outlives the connection. */
export function runChange(
  step: StepName,
  name: string,
  described: Described,
  run: {
    readonly script: string;
    readonly timeoutS: number;
    readonly durable?: boolean;
    readonly writes?: readonly string[];
  },
): Change {
  return change(step, name, described, [{ kind: 'run', durable: true, writes: [], ...run }]);
}

export function rebootChange(step: StepName, why: string): Change {
  return change(step, 'reboot', { title: 'reboot the host', why, disturbs: 'machine' }, [
    { kind: 'reboot', timeoutS: 1200 },
  ]);
}

export function refusal(step: StepName, what: string, next: string): Refusal {
  return { refused: true, step, what, next };
}

/** The same as it is announced while another step's result is awaited. */
export function later({ step, title, disturbs, marker, details, texts }: Change, until: StepName): Shape {
  return { known: false, step, title, until, disturbs, ...defined({ marker, details, texts }) };
}

export function change(
  step: StepName,
  name: string,
  described: Described,
  actions: readonly Action[],
): Change {
  return { known: true, id: changeId(step, name, actions), step, ...described, actions };
}
