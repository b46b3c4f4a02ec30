import { bindSources } from './mounts.ts';
import type { StandInContainer } from './state.ts';

/** A container as the engine's list reports it. */
export function listed(container: StandInContainer): object {
  return {
    Id: container.id,
    Names: [`/${container.name}`],
    State: container.listedAs ?? container.state,
    Labels: container.body.Labels ?? {},
    ImageID: container.body.Image,
    Created: container.created,
    Mounts: bindSources(container).map((Source) => ({ Type: 'bind', Source })),
  };
}
