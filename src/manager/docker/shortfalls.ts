import type { Finding } from '../../shared/health/verdict.ts';
import type { Dataset } from '../../shared/contract/config.ts';
import type { Slot } from '../model.ts';

/** What an engine cannot do that a configuration asks for. */
export interface Lacks {
  /** Mounts below each dataset that stay as they are. */
  readonly below: readonly { readonly name: string; readonly mounts: readonly string[] }[];
  /** Why containers are held to no size; undefined: they are, or it is not known yet. */
  readonly sizes: string | undefined;
  /** Sizes were given to containers, and their storage no longer counts. */
  readonly uncounted: boolean;
}

const noLimit = 'take limits.disk out of the inventory';
const onXfs = `${noLimit}, or put the root directory of Docker on xfs with the mount option pquota`;

const stopped = 'btrfs has stopped counting what containers hold';
const again =
  'run `btrfs quota rescan` on the root directory of Docker, and set drop_subtree_threshold to 8 (docs/manager.md)';

/** What is not as the configuration wants it and keeps nobody from working. Pure. */
export function shortfalls(slots: readonly Slot[], { below, sizes, uncounted }: Lacks): readonly Finding[] {
  const sized = slots.filter(({ limits }) => limits.disk !== undefined);
  const onHost = sized.filter(({ mode }) => mode === 'host');
  const inContainers = sized.filter(({ mode }) => mode === 'container');
  return [
    ...below.map(({ name, mounts }) => warn('dataset.writable-below', writable(name, mounts), whereOlder)),
    ...(onHost.length === 0
      ? []
      : [
          warn(
            'slot.no-size-limit',
            `limits.disk does nothing straight on the host (${names(onHost)})`,
            noLimit,
          ),
        ]),
    ...(inContainers.length === 0 || sizes === undefined
      ? []
      : [warn('slot.no-size-limit', `limits.disk is not held (${names(inContainers)}): ${sizes}`, onXfs)]),
    ...(inContainers.length === 0 || !uncounted
      ? []
      : [warn('slot.no-size-limit', `limits.disk is not held (${names(inContainers)}): ${stopped}`, again)]),
  ];
}

const whereOlder = 'mount it read-only on the host, or bring Docker to 25 or newer on Linux 5.12 or newer';

function writable(name: string, mounts: readonly string[]): string {
  const [first = '', ...more] = mounts;
  const all = more.length === 0 ? first : `${first} and ${more.length} more`;
  return `dataset ${name}: what is mounted below it (${all}) is not read-only with it, as this Docker, its runtime or the kernel cannot`;
}

function warn(code: 'dataset.writable-below' | 'slot.no-size-limit', what: string, next: string): Finding {
  return { code, severity: 'warn', what, next };
}

function names(slots: readonly Slot[]): string {
  return slots.map(({ name }) => name).join(', ');
}

/** The mounts below each dataset, where there are some. Pure. */
export function mountsBelow(datasets: readonly Dataset[], points: Iterable<string>): Lacks['below'] {
  const all = [...points];
  return datasets
    .map(({ name, host }) => ({ name, mounts: all.filter((point) => point.startsWith(`${host}/`)).sort() }))
    .filter(({ mounts }) => mounts.length > 0);
}
