import type Docker from 'dockerode';
import { foreignLine, foreignValue } from '../base/foreign-text.ts';
import { answer, neededList, neededText, text, textsByName, type Answer } from './answers.ts';
import { bounded, deadlines } from './deadline.ts';
import type { Engine, FoundNetwork } from './engine.ts';

type Networks = Pick<Engine, 'networksNamed' | 'createNetwork' | 'removeNetwork' | 'freeEndpoint'>;

/** What the engine does with networks. */
export function networks(docker: Docker): Networks {
  return {
    async networksNamed(name) {
      // The engine's filter is for names that have this in them.
      return bounded('listing networks', deadlines.short, async (abortSignal) => {
        const found = neededList(await docker.listNetworks({ filters: { name: [name] }, abortSignal }));
        return found.filter((network) => network['Name'] === name).map(foundNetwork);
      });
    },
    async createNetwork(options) {
      // An engine before 25 makes a second one of the name unless it is asked not to.
      const { id } = await bounded('creating the network of the agents', deadlines.normal, () =>
        docker.createNetwork({ CheckDuplicate: true, ...options }),
      );
      return text(id);
    },
    async removeNetwork(id) {
      await bounded('removing a network', deadlines.normal, (abortSignal) =>
        docker.getNetwork(id).remove({ abortSignal }),
      ).catch((error: unknown) => {
        if (!isUsedOrGone(error)) throw error;
      });
    },
    async freeEndpoint(network, name) {
      await bounded('freeing a place in the network of the agents', deadlines.normal, (abortSignal) =>
        docker.getNetwork(network).disconnect({ Container: name, Force: true, abortSignal }),
      );
    },
  };
}

/** Whoever may use Docker has named these things. */
function foundNetwork(found: Answer): FoundNetwork {
  const ipam = answer(found['IPAM']);
  return foreignValue(
    {
      id: neededText(found, 'Id'),
      driver: text(found['Driver']),
      internal: found['Internal'] === true,
      attachable: found['Attachable'] === true,
      ipv6: found['EnableIPv6'] === true,
      ipam: text(ipam['Driver']),
      subnets: neededList(ipam['Config'] ?? [])
        .map(({ Subnet: subnet }) => text(subnet))
        .filter((subnet) => subnet !== ''),
      options: textsByName(found['Options']),
      labels: textsByName(found['Labels']),
    },
    (said) => foreignLine(said),
  );
}

/** 403: it has active endpoints; newer engines say 409. 404: somebody else was faster. */
function isUsedOrGone(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return (
    cause instanceof Error && 'statusCode' in cause && [403, 404, 409].includes(Number(cause.statusCode))
  );
}
