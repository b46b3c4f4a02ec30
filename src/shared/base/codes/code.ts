import type { agentCodes } from './agent.ts';
import type { azureCodes } from './azure.ts';
import type { healthCodes } from './health.ts';
import type { imageCodes } from './image.ts';
import type { inventoryCodes } from './inventory.ts';
import type { managerCodes } from './manager.ts';
import type { provisionCodes } from './provision.ts';
import type { sshCodes } from './ssh.ts';
import type { usageCodes } from './usage.ts';
import type { waitingCodes } from './waiting.ts';

/** Codes of problems and causes. */
export type ErrorCode =
  | keyof typeof agentCodes
  | keyof typeof azureCodes
  | keyof typeof imageCodes
  | keyof typeof inventoryCodes
  | keyof typeof managerCodes
  | keyof typeof provisionCodes
  | keyof typeof sshCodes
  | keyof typeof usageCodes
  | keyof typeof waitingCodes;

/** Codes of findings about GPUs and their driver. */
export type HealthCode = keyof typeof healthCodes | `xid.${number}`;

/** The stable name of a problem, cause or finding. A new code needs a line in a table of this folder to compile. */
export type Code = ErrorCode | HealthCode | ForeignCode;

declare const foreign: unique symbol;

/** A code from another version of the program, which may have other codes. */
export type ForeignCode = string & { readonly [foreign]: true };

export function foreignCode(code: string): ForeignCode {
  return code as ForeignCode;
}
