import * as z from 'zod';

import { defaultVersions } from './defaults.ts';
import { sha256, version } from './values.ts';

/** Which NVIDIA driver, and where it comes from. */
export const driver = z
  .union(
    [
      z.literal('none'),
      z.strictObject({
        branch: version(/^\d{3,4}$/, defaultVersions.driverBranch)
          .optional()
          .meta({ description: `Driver branch; default "${defaultVersions.driverBranch}" or newer` }),
        version: version(/^\d{3,4}\.\d+(\.\d+)?$/, '580.95.05')
          .optional()
          .meta({ description: 'Exact version; default: the newest of the branch' }),
        sha256: sha256.optional().meta({
          description: "Of NVIDIA's .run file of that version, for method: runfile; many are known",
        }),
        flavor: z
          .enum(['auto', 'open', 'proprietary'], { error: 'auto, open or proprietary' })
          .optional()
          .meta({ description: 'Kernel modules; auto (default) decides by the GPU' }),
        method: z
          .enum(['repo', 'distro', 'runfile', 'none'], { error: 'repo, distro, runfile or none' })
          .optional()
          .meta({
            description:
              "Where it comes from; repo (default): NVIDIA's package source; distro: the system's own, of its branch unless one is asked for; runfile: NVIDIA's .run file; none: it is left alone",
          }),
      }),
    ],
    { error: 'driver settings such as { branch: "580" }, or none to leave the driver alone' },
  )
  .meta({ id: 'driver' });
