import { Labels } from '../../shared/contract/paths.ts';
import type { Engine, OwnContainer } from '../../shared/engine/engine.ts';
import { withTrueStates } from './true-states.ts';

/**
 * The engine as one manager sees it: its containers are what they say of themselves, what it creates carries its owner id, and what another manager has created is not
 * there. Two that share an engine by mistake leave each other's agents alone.
 */
export function ownContainers(docker: Engine, owner: () => string): Engine {
  const engine = withTrueStates(docker);
  return {
    ...engine,
    create: (name, options) =>
      engine.create(name, { ...options, Labels: { ...options.Labels, [Labels.owner]: owner() } }),
    listOwn: async (filter) =>
      (await engine.listOwn(filter)).filter((container) => isOwn(container, owner())),
  };
}

/** What carries no owner is of an earlier version, or the CLI's: as it always was. Pure. */
function isOwn({ labels }: OwnContainer, owner: string): boolean {
  const known = labels[Labels.owner];
  return known === undefined || known === owner;
}
