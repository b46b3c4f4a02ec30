import { FleetError } from '../../shared/base/errors.ts';
import { imageOverall, type ImageStatus, type ManagerStatus } from '../../shared/contract/status.ts';
import type { ManagerClient } from './manager-client.ts';

const pollMs = 1000;

type Asked = NonNullable<ManagerStatus['image']['asked']>;

/** What one host's manager has made of it. */
export interface BuiltImage {
  readonly reference: string;
  readonly digest: string;
  /** It is another one than before. */
  readonly isNew: boolean;
}

/**
 * Has the manager build or pull the agents' image now, and follows it to its end. The manager does the work: when this
 * ends early it goes on, and whoever asks again meanwhile follows the same build.
 */
export async function renewImage(
  manager: Pick<ManagerClient, 'status' | 'renewImage'>,
  fresh: boolean,
  tools: { readonly onLine: (line: string) => void; readonly sleep: (ms: number) => Promise<void> },
): Promise<BuiltImage> {
  const before = digests(await manager.status());
  let status = await manager.renewImage(fresh);
  const { asked: begun } = status.image;
  for (let said = ''; status.image.asked?.state === 'running'; status = await manager.status()) {
    const line = imageLine(imageOverall(status));
    if (line !== said) tools.onLine(line);
    said = line;
    await tools.sleep(pollMs);
  }
  const { asked, reference = '', digest = '' } = status.image;
  if (asked === undefined || asked.at !== begun?.at) throw lost();
  if (asked.state === 'failed') throw failed(asked);
  return { reference, digest, isNew: digests(status) !== before };
}

/** Of all images of a host. */
function digests(status: ManagerStatus): string {
  return status.images.map(({ digest = '' }) => digest).join(' ');
}

/** How far the image is, in one line. */
export function imageLine({ state, progress }: ImageStatus): string {
  return `agent image ${[state, progress].filter((part) => part !== undefined).join(': ')}`;
}

/** The cause in one line, and below it what the failed step wrote. */
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
