import { defined } from '../base/defined.ts';
import type { Facts } from '../facts/facts.ts';
import type { Desired } from './step.ts';

/**
 * DGX OS calls itself another system; its driver, Docker Engine and toolkit NVIDIA keeps together, in sources of its own:
 * they are not ours to install, to hold or to replace. They are configured, and what runs is checked.
 */
export function isKept({ platform }: Pick<Facts, 'platform'>): boolean {
  return platform === 'dgx';
}

/** The wishes with the versions that are there, where those are not ours to choose. */
export function asFound(facts: Facts, desired: Desired): Desired {
  if (!isKept(facts)) return desired;
  const { docker, toolkit } = desired.host;
  return {
    ...desired,
    host: {
      ...desired.host,
      docker: { ...docker, ...defined({ version: facts.docker.serverVersion }) },
      toolkit: { ...toolkit, ...defined({ version: facts.toolkit.version }) },
    },
  };
}

/** What is missing comes with the system, by hand. `what` is one of its parts. */
export function keptMissing(what: string): { readonly what: string; readonly next: string } {
  return {
    what: `${what} is not there, and DGX OS brings its own`,
    next: 'install it as the DGX OS user guide says, from its own package sources, and run again',
  };
}
