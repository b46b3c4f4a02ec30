import { FleetError } from '../shared/base/errors.ts';
import type { Cause } from './model.ts';

/** Returns the cause that describes any failure. */
export function causeOf(error: unknown): Cause {
  if (!(error instanceof FleetError)) {
    return {
      code: 'manager.failed',
      what: `unexpected: ${error instanceof Error ? error.message : String(error)}`,
      next: 'check journalctl -u azp-fleet-manager, and report it',
    };
  }
  const { code, what, expected, seen, next } = error.problem;
  const whole = expected === undefined ? what : `${what} (expected ${expected})`;
  return {
    code,
    what: seen === undefined ? whole : `${whole}: ${seen}`,
    next: next ?? 'check journalctl -u azp-fleet-manager',
  };
}

/** Returns whether the host, Docker, the server or the network failed, and not this program. */
export function isExternal(error: unknown): boolean {
  return error instanceof FleetError || (error instanceof Error && 'errno' in error);
}

/** Thrown by an action that cannot continue now, without a failure of the slot: retried soon, without a back-off. */
export class NotYet extends Error {
  readonly reason: Cause;
  constructor(reason: Cause) {
    super(reason.what);
    this.reason = reason;
  }
}
