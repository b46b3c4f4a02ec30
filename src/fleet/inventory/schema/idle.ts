import * as z from 'zod';

import { durationFrom } from './values.ts';

/** A program of the owner's: what systemd would take for more than a path is none. */
const program = /^\/[\w./+-]+$/;

const runExpected = 'poweroff, or the absolute path of a program, e.g. /usr/local/sbin/deallocate';

/** Below five minutes nobody could log in to a machine that has just started. */
export const idle = z
  .union(
    [
      z.literal('none'),
      z.strictObject({
        after: durationFrom('5m').meta({ description: 'So long nobody has used the host, e.g. 30m' }),
        run: z
          .union(
            [
              z.literal('poweroff'),
              z
                .string({ error: runExpected })
                .refine((run) => program.test(run) && !run.includes('/../'), runExpected),
            ],
            { error: runExpected },
          )
          .optional()
          .meta({ description: 'poweroff (default), or a program of yours that ends the machine' }),
      }),
    ],
    { error: 'what ends an idle host, e.g. { after: 30m, run: poweroff }, or none' },
  )
  .meta({ id: 'idle' });
