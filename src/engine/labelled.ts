import type Docker from 'dockerode';
import { bounded, deadlines } from './deadline.ts';
import type { Engine } from './engine.ts';

/** What others than we made, found by its label. */
export function labelled(docker: Docker): Pick<Engine, 'withLabel'> {
  return {
    async withLabel(label) {
      const [containers, networks] = await bounded('looking for a label', deadlines.short, (abortSignal) => {
        const filters = { label: [label] };
        return Promise.all([
          docker.listContainers({ all: true, filters, abortSignal }),
          docker.listNetworks({ filters, abortSignal }),
        ]);
      });
      return {
        containers: containers.map(({ Id, Names, Mounts }) => ({
          id: Id,
          name: (Names[0] ?? '').replace(/^\//, ''),
          sources: Mounts.map(({ Source }) => Source),
        })),
        networks: networks.map(({ Id, Name }) => ({ id: Id, name: Name })),
      };
    },
  };
}
