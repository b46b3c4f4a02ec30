import { defined } from '../../shared/base/objects.ts';
import { valueOf } from '../../shared/base/reading.ts';
import type { Problem } from '../../shared/base/errors.ts';
import { type ImageStatus, type ManagerStatus } from '../../shared/contract/status.ts';
import { type FactsWith, reading, statusOf, unreadProblem } from '../facts/unread.ts';
import { chooseBase, cudaOfDriver, type Choice } from '../../shared/image/choose.ts';
import type { DockerfileSpec, HostSpec } from '../inventory/fleet.ts';
import type { Observation } from './row.ts';

/** The desired image of a host, and the present one. */
export interface ImageRow {
  readonly host: string;
  readonly problem?: Problem;
  /** Undefined when the host, or what it depends on, could not be read. */
  readonly wanted?: DesiredImage;
  /** The team's Dockerfile on top of it. */
  readonly dockerfile?: DockerfileSpec;
  /** Slots with a separate image; absent: none. */
  readonly slots?: readonly { readonly slot: string; readonly image: string }[];
  /** The manager's image; undefined: it has not reported, or its report could not be read. */
  readonly present?: ManagerStatus['image'];
  /** Agent archives whose digest the host keeps from the first download; absent: none. */
  readonly archives?: NonNullable<ManagerStatus['archives']>;
  /** Images besides `present`; absent: none. */
  readonly others?: readonly ImageStatus[];
}

export type DesiredImage =
  /** The inventory names the image, or the base to build on. */
  | { readonly kind: 'image' | 'base'; readonly reference: string }
  | { readonly kind: 'chosen'; readonly choice: Choice };

/** Returns the row of one host. Pure. */
export function imageRow({ host, problem, facts }: Observation): ImageRow {
  const report = facts && statusOf(facts);
  const seen = facts && reading(facts, 'gpus', 'driver');
  const named = facts && namedImage(host);
  const status = report && valueOf(report);
  const others = status === undefined ? [] : status.images.slice(1);
  const unread = [report, named === undefined ? seen : undefined].flatMap((each) =>
    each?.kind === 'unknown' ? each.unread : [],
  );
  const wanted =
    named ?? (unread.length === 0 && seen?.kind === 'value' ? chosen(host, seen.value) : undefined);
  return {
    host: host.name,
    ...defined({
      problem: problem ?? (unread.length === 0 ? undefined : unreadProblem(host.name, unread)),
      wanted,
      dockerfile: host.dockerfile,
      slots: ownImages(host),
      present: status?.image,
      archives: status?.archives?.length === 0 ? undefined : status?.archives,
      others: others.length === 0 ? undefined : others,
    }),
  };
}

function ownImages({ agents }: HostSpec): ImageRow['slots'] {
  const slots = agents.kind === 'slots' ? agents.slots : [];
  const own = slots.flatMap(({ name, image }, index) =>
    image === undefined ? [] : [{ slot: name ?? String(index), image }],
  );
  return own.length === 0 ? undefined : own;
}

function namedImage({ image, baseImage }: HostSpec): DesiredImage | undefined {
  if (image !== undefined) return { kind: 'image', reference: image };
  return baseImage === undefined ? undefined : { kind: 'base', reference: baseImage };
}

/** Chooses as the manager does; without a loaded driver, by the inventory's driver version or branch. */
function chosen(host: HostSpec, facts: FactsWith<'gpus' | 'driver'>): DesiredImage {
  const { arch, gpus, driver } = facts;
  const health = valueOf(statusOf(facts))?.health;
  const version = driver.loaded ?? (host.driver.install ? (host.driver.version ?? host.driver.branch) : '');
  const choice = chooseBase({
    arch,
    cudaMax: health?.cudaVersion ?? cudaOfDriver(version),
    capabilities: (health?.gpus ?? []).flatMap(({ computeCapability }) => computeCapability ?? []),
    cpuOnly: gpus.length === 0,
  });
  return { kind: 'chosen', choice };
}
