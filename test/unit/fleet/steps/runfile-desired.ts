import type { HostSpec } from '../../../../src/fleet/inventory/fleet.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf } from '../../../support/host.ts';

export const runfileWith = (
  driver: Partial<HostSpec['driver']> = {},
  rest: Partial<HostSpec> = {},
): Desired => desiredOf({ ...rest, driver: { method: 'runfile', ...driver } });
export const runfile = runfileWith();
export const built = { dkms: '3.0.10-8', 'libelf-dev': '0.188-2.1' };
export const release = '6.1.0-32-amd64';
export const upgraded = [
  { release, headers: true, driver: true },
  { release: '6.1.0-38-amd64', headers: false, driver: false },
] as const;
export const newKernel = { 'linux-image-amd64': '6.1.147-1', 'linux-image-6.1.0-38-amd64': '6.1.147-1' };
export const runs = { loaded: '580.178.04', userspace: '580.178.04', open: true, runfile: true } as const;
export const registered = { ...runs, dkms: 'registered' } as const;
export const ours = { runfile: { version: '580.178.04', graphics: false } } as const;
export const known = '580.178.04 (.run file, open kernel modules, compute only)';
