import { generateAgentKey } from '../../src/shared/azure/keys.ts';
import type { KeyStock } from '../../src/manager/registration/keys.ts';

// RSA keys take a tenth of a second each; the tests of the manager need one that is valid, not a new one each time.
const sharedKey = generateAgentKey();
export const sharedKeys = { take: () => sharedKey } as unknown as KeyStock;
