import { FleetError } from '../shared/base/errors.ts';
import type { Cause } from './model.ts';

/** Any failure of an operation in plain words. */
export function causeOf(error: unknown): Cause {
  if (!(error instanceof FleetError)) {
    return {
      code: 'manager.failed',
      what: `unexpected: ${error instanceof Error ? error.message : String(error)}`,
      next: 'look at journalctl -u azp-fleet-manager, and report it',
    };
  }
  const { code, what, expected, seen, next } = error.problem;
  const told = expected === undefined ? what : `${what} (expected ${expected})`;
  return {
    code,
    what: seen === undefined ? told : `${told}: ${seen}`,
    next: next ?? 'look at journalctl -u azp-fleet-manager',
  };
}

/** Of the host, Docker, the server or the network, and no mistake of this program. */
export function isFromOutside(error: unknown): boolean {
  return error instanceof FleetError || (error instanceof Error && 'errno' in error);
}

/** The launch cannot go on now, for a reason that is no failure of the slot: asked again soon, without a back-off. */
export class NotYet extends Error {
  readonly reason: Cause;
  constructor(reason: Cause) {
    super(reason.what);
    this.reason = reason;
  }
}
