import type { Cause } from './model.ts';

/** The launch cannot go on now, for a reason that is no failure of the slot: asked again soon, without a back-off. */
export class NotYet extends Error {
  readonly reason: Cause;
  constructor(reason: Cause) {
    super(reason.what);
    this.reason = reason;
  }
}
