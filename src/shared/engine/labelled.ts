import type Docker from 'dockerode';
import { containerName, neededList, neededText, text, textsByName } from './answers.ts';
import { bounded, deadlines } from './deadline.ts';
import type { Engine } from './engine.ts';

/** What others than we made: found by its label, or because it runs. */
export function labelled(docker: Docker): Pick<Engine, 'withLabel' | 'running'> {
  return {
    async running() {
      return bounded('listing running containers', deadlines.short, async (abortSignal) =>
        neededList(await docker.listContainers({ abortSignal })).map((found) => ({
          name: containerName(found),
          labels: textsByName(found['Labels']),
        })),
      );
    },
    async withLabel(label) {
      return bounded('looking for a label', deadlines.short, async (abortSignal) => {
        const filters = { label: [label] };
        const [containers, networks] = await Promise.all([
          docker.listContainers({ all: true, filters, abortSignal }),
          docker.listNetworks({ filters, abortSignal }),
        ]);
        return {
          containers: neededList(containers).map((found) => ({
            id: neededText(found, 'Id'),
            name: containerName(found),
            sources: neededList(found['Mounts'] ?? []).map(({ Source: source }) => text(source)),
          })),
          networks: neededList(networks).map((found) => ({
            id: neededText(found, 'Id'),
            name: text(found['Name']),
          })),
        };
      });
    },
  };
}
