import { sha256 } from '../../shared/base/digest.ts';
import type { Facts } from '../facts/facts.ts';
import type { Detail } from './change.ts';
import type { Desired } from './step.ts';

/**
 * Another build context is another image, whatever the configuration says: what becomes of the slots then. Undefined where
 * the host has built from no other one before, or runs none of it. Pure.
 */
export function builtAnew({ manager }: Facts, { host, artifacts }: Desired): readonly Detail[] | undefined {
  if (manager.context === undefined || manager.context === contextDigest(artifacts.context)) return undefined;
  const slots = host.agents.kind === 'slots' ? host.agents.slots : [];
  const others = slots.filter(({ mode, image }) => mode === 'host' || image !== undefined).length;
  if (others > 0 && others === slots.length && host.dockerfile?.push === undefined) return undefined;
  const who = others === 0 ? 'all slots' : 'slots that run it';
  const effect = `${who} move to it: one first, the others once it works; running jobs finish first`;
  return [{ marker: 'change', text: 'the agent image is rebuilt', effect }];
}

/** Over `SHA256  ./PATH` of each file, sorted by path: what `sha256sum` says in the folder. */
export function contextDigest(context: Desired['artifacts']['context']): string {
  const lines = context.map(({ path, artifact }) => ({ path: `./${path}`, sha: artifact.sha256 }));
  lines.sort((left, right) => Buffer.compare(Buffer.from(left.path), Buffer.from(right.path)));
  return sha256(lines.map(({ path, sha }) => `${sha}  ${path}\n`).join(''));
}
