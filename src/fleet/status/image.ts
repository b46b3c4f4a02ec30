import { defined } from '../../shared/base/objects.ts';
import type { Problem } from '../../shared/base/errors.ts';
import { type ImageStatus, type ManagerStatus } from '../../shared/contract/status.ts';
import type { Facts } from '../facts/facts.ts';
import { unreadOf, unreadProblem } from '../facts/unread.ts';
import { chooseBase, cudaOfDriver, type Choice } from '../../shared/image/choose.ts';
import type { DockerfileSpec, HostSpec } from '../inventory/fleet.ts';
import type { Observation } from './row.ts';

/** The desired image of a host, and the present one. */
export interface ImageRow {
  readonly host: string;
  readonly problem?: Problem;
  /** Undefined when the host could not be read. */
  readonly wanted?: DesiredImage;
  /** The team's Dockerfile on top of it. */
  readonly dockerfile?: DockerfileSpec;
  /** Slots with a separate image; absent: none. */
  readonly slots?: readonly { readonly slot: string; readonly image: string }[];
  /** The manager's image; undefined: it has not reported. */
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
  const { status } = facts?.manager ?? {};
  const others = status === undefined ? [] : status.images.slice(1);
  const wanted = facts === undefined ? undefined : desiredImage(host, facts);
  const unread = facts === undefined || wanted?.kind !== 'chosen' ? [] : unreadOf(facts, 'gpus', 'driver');
  return {
    host: host.name,
    ...defined({
      problem: problem ?? (unread.length === 0 ? undefined : unreadProblem(host.name, unread)),
      wanted: unread.length === 0 ? wanted : undefined,
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

function desiredImage(host: HostSpec, facts: Facts): DesiredImage {
  if (host.image !== undefined) return { kind: 'image', reference: host.image };
  if (host.baseImage !== undefined) return { kind: 'base', reference: host.baseImage };
  return { kind: 'chosen', choice: chooseFor(host, facts) };
}

/** Chooses as the manager does; without a loaded driver, by the inventory's driver version or branch. */
function chooseFor(host: HostSpec, { arch, gpus, driver, manager }: Facts): Choice {
  const health = manager.status?.health;
  const version = driver.loaded ?? (host.driver.install ? (host.driver.version ?? host.driver.branch) : '');
  return chooseBase({
    arch,
    cudaMax: health?.cudaVersion ?? cudaOfDriver(version),
    capabilities: (health?.gpus ?? []).flatMap(({ computeCapability }) => computeCapability ?? []),
    cpuOnly: gpus.length === 0,
  });
}
