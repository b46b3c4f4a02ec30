import type { Offer } from './offers.ts';

/** Small, and made for drivers of 570 and later; the user's own takes its place. */
const exampleImage = 'nvidia/cuda:12.8.2-base-ubuntu24.04';

export interface JobContainer {
  readonly image: string;
  /** For `docker create`. */
  readonly options: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A job's own container on this agent: its GPUs, and the datasets where the fleet's containers have them. */
export function containerOf({ host, slot }: Offer, images: string | undefined): JobContainer {
  const { datasets } = host;
  const [gpu, ...more] = slot.gpus;
  const gpus = more.length === 0 && typeof gpu === 'string' ? `device=${gpu}` : 'all';
  const volumes = datasets.map((dataset) => `--volume ${quoted(`${dataset.host}:${dataset.container}:ro`)}`);
  return {
    image: images === undefined ? exampleImage : `${images.replace(/\/+$/, '')}/${exampleImage}`,
    options: [`--gpus ${gpus}`, ...volumes].join(' '),
    ...(datasets.length === 0
      ? {}
      : { env: Object.fromEntries(datasets.map(({ name, container }) => [name, container])) }),
  };
}

/** As the agent hands options to a program: in double quotes where there are blanks. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `"${word.replaceAll('"', String.raw`\"`)}"`;
}
