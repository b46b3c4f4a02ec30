import { defaultAgentVersion } from '../../shared/contract/agent-release.ts';
import type { ImageConfig } from '../../shared/contract/config.ts';

/**
 * The version that an agent is registered with until it says its own at the start of its session: of an image that is
 * built here the one that goes into it; of another what the server knew last, else the one that we would put in. Never
 * 0.0.0: the server would want to update such an agent, and no job that demands a version would be given to it.
 */
export function registeredVersion(image: ImageConfig, known: string | undefined): string {
  if (image.kind === 'build') return image.agentVersion;
  return known === undefined || !/^[1-9]\d*(?:\.\d+)+$/u.test(known) ? defaultAgentVersion : known;
}
