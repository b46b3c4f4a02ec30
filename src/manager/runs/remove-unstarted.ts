import { Labels } from '../../shared/contract/paths.ts';
import type { Engine } from '../../shared/engine/engine.ts';

/**
 * Takes a container away that could not be started. An answer that came too late is no failure of the start: what runs
 * may have a job already, and what has run is collected like any other run, its key and its evidence with it.
 */
export async function removeUnstarted(
  engine: Pick<Engine, 'listOwn' | 'removeUnlessRunning'>,
  id: string,
  run: string,
): Promise<void> {
  const found = await engine.listOwn({ [Labels.run]: run });
  if (found.some((container) => container.id === id && container.state === 'created'))
    await engine.removeUnlessRunning(id);
}
