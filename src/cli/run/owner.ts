import { hostname } from 'node:os';

import type { Context } from '../../shared/base/context.ts';

/** `user@laptop`, as locks and durable changes name us. */
export function ownerName(context: Context): string {
  return `${context.user}@${hostname()}`;
}
