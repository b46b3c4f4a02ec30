import { randomBytes } from 'node:crypto';

import type { Answered } from '../../shared/base/reading.ts';
import type { ManagerStatus } from '../../shared/contract/status.ts';
import type { Side } from '../../shared/health/both-sides.ts';
import type { Facts } from '../facts/facts.ts';
import { probeName, type ProbeOptions } from '../../shared/health/probe.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { ageText, isTooOld } from '../verdict/sources.ts';

/** What its container and its expected result depend on. */
type SeenForProbe = Pick<Facts, 'gpus' | 'ignoredGpus'> & Pick<Facts['toolkit'], 'cdiSpec'>;

/** Returns the options of this host's probe container and its expected result. `status`: its manager's, if it is known; `now`: by the host's clock. */
export function probeOptions(
  host: HostSpec,
  { cdiSpec, gpus, ignoredGpus }: SeenForProbe,
  status: Pick<ManagerStatus, 'image' | 'health'> | undefined,
  now: number,
): ProbeOptions {
  const { digest, reference, previous }: Partial<ManagerStatus['image']> = status?.image ?? {};
  return {
    // The manager or another user may probe at the same time.
    name: probeName(host.name, randomBytes(4).toString('hex')),
    host: host.name,
    images: [digest ?? reference, previous, host.image].filter((image) => image !== undefined),
    cdiSpec,
    hostSide: hostSide(status?.health, now),
    expected: {
      pci: gpus.map(({ address }) => address),
      ignored: ignoredGpus.map(({ address }) => address),
      ...(host.gpus === undefined ? {} : { gpus: host.gpus }),
    },
  };
}

/** Returns what the manager's last check of the GPUs on the host shows, which runs every 20 s. */
function hostSide(health: ManagerStatus['health'] | undefined, now: number): Answered<Side> {
  const unknown = (why: string) => ({ kind: 'unknown', why }) as const;
  if (health === undefined) return unknown('no report of a manager');
  const { checkedAt, gpus, driverVersion } = health;
  const ageMs = now - Date.parse(checkedAt ?? '');
  if (gpus === undefined || checkedAt === undefined)
    return unknown('the manager’s check has no list of GPUs');
  if (isTooOld({ source: 'gpus', ageMs }))
    return unknown(`the manager’s check is ${ageText(Math.abs(ageMs) / 1000)} old`);
  return { kind: 'value', value: { driverVersion, gpus } };
}
