import * as z from 'zod';

import { wholeNumber } from './values.ts';

const oneGpu = 'a GPU: its index in PCI bus order (0, 1, …) or a UUID (GPU-… or MIG-…)';
/** A GPU of a slot. */
export const gpu = z.union([z.int().min(0, oneGpu), z.string().regex(/^(GPU|MIG)-[0-9A-Za-z/-]+$/, oneGpu)], {
  error: oneGpu,
});

const gpuCount = wholeNumber(0, 64, 'a number of GPUs');
const displayCard =
  'a PCI address or a kind of card, as `lspci -Dnn -d 10de:` shows them, e.g. "0000:03:00.0" or "10de:128b"';
/** The GPUs of a host: how many, and which cards are none. */
export const gpus = z.union(
  [
    gpuCount,
    z.strictObject({
      count: gpuCount
        .optional()
        .meta({ description: 'GPUs the host should have, those that are ignored left out' }),
      ignore: z
        .array(
          z
            .string({ error: displayCard })
            .regex(/^(10de:[\da-f]{4}|([\da-f]{4,8}:)?[\da-f]{2}:[\da-f]{2}\.[0-7])$/i, displayCard),
          { error: 'a list of display cards, e.g. ["10de:128b"]' },
        )
        .optional()
        .meta({ description: 'Cards for screens: no agent gets them, and no driver is chosen for them' }),
    }),
  ],
  { error: 'a number of GPUs (a whole number from 0 to 64), or e.g. { ignore: ["10de:128b"] }' },
);
