import { Labels } from '../contract/paths.ts';
import type { Engine } from '../engine/engine.ts';
import { agentBridge } from './fence-rules.ts';

/** The network of the agents' containers. */
export const agentNetwork = 'azp-fleet';

/** Makes it when it is not there: a bridge of a fixed name, on which containers do not see each other. */
export async function ensureAgentNetwork(engine: Pick<Engine, 'ensureNetwork'>): Promise<void> {
  await engine.ensureNetwork(agentNetwork, {
    Name: agentNetwork,
    Driver: 'bridge',
    Labels: { [Labels.kind]: 'network' },
    Options: {
      'com.docker.network.bridge.name': agentBridge,
      'com.docker.network.bridge.enable_icc': 'false',
    },
  });
}
