import { FleetError } from '../../shared/base/errors.ts';
import { imageOverall, type ImageStatus, type ManagerStatus } from '../../shared/contract/status.ts';
import type { ManagerClient } from './manager-client.ts';

const pollMs = 1000;

type Asked = NonNullable<ManagerStatus['image']['asked']>;

/** The image of one host after a build or pull. */
export interface BuiltImage {
  readonly reference: string;
  readonly digest: string;
  /** The digest has changed. */
  readonly isNew: boolean;
}

/**
 * Starts a build or pull of the agents' image by the manager, and follows it to its end. If this process exits early,
 * the manager continues; a second call follows the same build.
 */
export async function renewImage(
  manager: Pick<ManagerClient, 'status' | 'renewImage'>,
  fresh: boolean,
  tools: { readonly onLine: (line: string) => void; readonly sleep: (ms: number) => Promise<void> },
): Promise<BuiltImage> {
  const before = digests(await manager.status());
  let status = await manager.renewImage(fresh);
  const { asked: request } = status.image;
  for (let shown = ''; status.image.asked?.state === 'running'; status = await manager.status()) {
    const line = imageLine(imageOverall(status));
    if (line !== shown) tools.onLine(line);
    shown = line;
    await tools.sleep(pollMs);
  }
  const { asked, reference = '', digest = '' } = status.image;
  if (asked === undefined || asked.at !== request?.at) throw lost();
  if (asked.state === 'failed') throw failed(asked);
  return { reference, digest, isNew: digests(status) !== before };
}

/** Returns the digests of all images of a host. */
function digests(status: ManagerStatus): string {
  return status.images.map(({ digest = '' }) => digest).join(' ');
}

/** Returns the progress of the image in one line. */
export function imageLine({ state, progress }: ImageStatus): string {
  return `agent image ${[state, progress].filter((part) => part !== undefined).join(': ')}`;
}

/** Returns the cause in one line, and below it the output of the failed step. */
export function imageFailure({
  cause = 'no cause given',
  output = [],
}: Pick<ImageStatus, 'cause' | 'output'>): string {
  return [cause, ...output].join('\n');
}

function failed(asked: Asked): FleetError {
  return new FleetError({
    code: 'image.failed',
    step: 'image',
    what: 'the agent image could not be built or pulled',
    seen: imageFailure(asked),
    next: 'fix the cause and run again; agents continue with the existing image',
  });
}

function lost(): FleetError {
  return new FleetError({
    code: 'image.lost',
    step: 'image',
    what: 'the manager restarted during the image build',
    next: 'run it again',
  });
}
