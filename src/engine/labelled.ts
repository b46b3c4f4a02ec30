import type Docker from 'dockerode';
import { bounded, deadlines } from './deadline.ts';
import type { Engine } from './engine.ts';

/** What others than we made, found by its label. */
export function labelled(docker: Docker): Pick<Engine, 'withLabel' | 'removeNetwork'> {
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
    async removeNetwork(id) {
      await bounded('removing a network', deadlines.normal, (abortSignal) =>
        docker.getNetwork(id).remove({ abortSignal }),
      ).catch((error: unknown) => {
        if (!isUsedOrGone(error)) throw error;
      });
    },
  };
}

/** 403: it has active endpoints; newer engines say 409. 404: somebody else was faster. */
function isUsedOrGone(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return (
    cause instanceof Error && 'statusCode' in cause && [403, 404, 409].includes(Number(cause.statusCode))
  );
}
