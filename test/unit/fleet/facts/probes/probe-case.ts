import { factProbes } from '../../../../../src/fleet/facts/gather.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';

const scripts = new Map(
  factProbes({ root: { prefix: '/practice' } }).map(({ name, script }) => [name, script]),
);

/** Returns a case of a probe's script. */
export function probe(name: string, rest: Omit<ScriptCase, 'script'>): ScriptCase {
  const { code, stdout = '' } = rest.after;
  // What a probe prints has an end, unless it fails.
  const after = code === undefined ? { ...rest.after, stdout: `${stdout}\nend\n` } : rest.after;
  return { ...rest, after, name: `${name}: ${rest.name}`, script: scripts.get(name) ?? '' };
}
