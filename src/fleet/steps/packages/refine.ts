import { glob } from '../../inventory/glob.ts';
import type { Answer, Answers, Bound, Effects } from '../../packages/simulation.ts';
import type { Shape } from '../change.ts';
import { later, refusal } from '../changes.ts';
import type { Planned, Refusal } from '../step.ts';
import { boundDetails, boundOf, effectDetails } from './details.ts';
import { needsOf, Room, uploadNeeds, type Disks } from './room.ts';
import { boundChange, type PackageChange, type Pending } from './package-change.ts';
import { isDowngrade } from './title.ts';

type Found = Planned | Refusal;

/** What package managers have said, by the id of the change that they were asked about. */
export interface Said {
  readonly answers: Answers;
  /** Nothing can be done before it: what is still unknown runs under what was announced of it. */
  readonly final: boolean;
}

/**
 * The package changes among these as they are known now, and what of all changes does not fit the disks. `said` undefined: nobody asked. `disks`: what room there is,
 * measured; undefined: enough. Pure.
 */
export function refinePackages(
  found: readonly Found[],
  said?: Said,
  disks: Disks = { disk: {}, initramfsBytes: 0, arrived: {} },
): Found[] {
  const room = new Room(disks);
  const refined = found.map((item) => {
    if (isPackageChange(item)) return roomObstacle(item, said, room, disks) ?? refine(item, said);
    return uploadObstacle(item, room, disks) ?? item;
  });
  const refused = new Set(
    refined.flatMap((item, at) => ('refused' in item && item !== found[at] ? [item.step] : [])),
  );
  // What else its step would do makes no sense without it.
  return refined.filter((item) => 'refused' in item || !refused.has(item.step));
}

export function isPackageChange(item: Found): item is PackageChange {
  return 'pending' in item;
}

function roomObstacle(
  { id, pending }: PackageChange,
  said: Said | undefined,
  room: Room,
  disks: Disks,
): Refusal | undefined {
  const answer = said?.answers[id];
  if (answer?.kind !== 'known') return undefined;
  const found = room.take(needsOf(answer, pending.rebuildsInitramfs === true, disks));
  return found && refusal(pending.step, `${pending.subject.what} ${found.what}`, found.next);
}

/** What is brought, and what becomes of it, has to fit as well. */
function uploadObstacle(item: Found, room: Room, disks: Disks): Refusal | undefined {
  if (!('actions' in item)) return undefined;
  const { lasting, passing } = uploadNeeds(item, disks);
  const found = room.take(lasting, passing);
  return found && refusal(item.step, `"${item.title}" ${found.what}`, found.next);
}

function refine({ pending, ...change }: PackageChange, said: Said | undefined): Found {
  if (said === undefined) return change;
  const answer: Answer = said.answers[change.id] ?? { kind: 'unknown', why: 'nobody was asked' };
  if (answer.kind === 'known') return told(pending, answer);
  if (answer.kind === 'not-offered') return notOffered(pending, answer.offered);
  if (answer.kind === 'impossible') return refusal(pending.step, answer.what, answer.next);
  return said.final ? boundChange(pending, foreseen(pending)) : shape(pending, answer.why);
}

function told(pending: Pending, effects: Effects): Found {
  const kept = lost(pending, effects);
  if (kept.length > 0) return desktopLoses(pending, kept);
  if (effects.removes.length + effects.downgrades.length > mostHarm) return tooMuch(pending, effects);
  return {
    ...boundChange(pending, boundOf(effects), {
      version: effects.version,
      comes: effects.installs.map(({ name }) => name),
    }),
    details: effectDetails(effects),
  };
}

/** The most that it may do where nobody can say what it will: what facts alone tell. */
function foreseen({ transaction, subject }: Pending): Bound {
  const { packages, siblings = [], optional = [], remove } = transaction;
  const own = [...packages.map(({ name }) => name), ...optional, ...siblings];
  return { removes: [...remove].toSorted(), downgrades: isDowngrade(subject) ? own : [] };
}

function shape(pending: Pending, why: string): Shape {
  const bound = foreseen(pending);
  return {
    ...later({ ...boundChange(pending, bound), details: boundDetails(bound) }, pending.step),
    why: `what else would go is not known: ${why}; it stops where anything would`,
    bound,
  };
}

function notOffered({ step, wish, subject }: Pending, offered: readonly string[]): Refusal {
  const branches = wish?.key === 'driver.branch';
  const values = [...new Set(offered.map((version) => (branches ? version.replace(/\..*/, '') : version)))];
  const shown = values.slice(0, mostOffered).join(', ') + (values.length > mostOffered ? ', …' : '');
  return refusal(
    step,
    `${wish?.what ?? subject.what} is not offered; offered: ${shown === '' ? 'nothing' : shown}`,
    `set ${wish?.key ?? 'the version'} to one that is offered, or ${wish?.otherwise ?? 'complete the mirror'}`,
  );
}

/** Of what would go, what has to stay; the architecture behind a name decides nothing. */
function lost({ keeps, platform }: Pending, { removes }: Effects): string[] {
  const patterns = (keeps ?? platform.names.desktop.own).map(glob);
  return removes
    .map(({ name }) => name)
    .filter((name) => patterns.some((fits) => fits(name.replace(/:.*/, ''))))
    .toSorted();
}

function desktopLoses({ step, subject, platform }: Pending, names: readonly string[]): Refusal {
  return refusal(
    step,
    `${subject.what} ${subject.to ?? ''} would take ${names.join(', ')} from the desktop of this host`,
    `${platform.packages.removal(names)} if nobody needs a screen here, or ${
      step === 'driver' ? 'set driver: none to leave the driver to its owner' : 'leave this host out'
    }`,
  );
}

/** So many packages may go or get older by one change; where more would, something is wrong with host or sources. */
const mostHarm = 200;

function tooMuch({ step, subject }: Pending, { removes, downgrades }: Effects): Refusal {
  return refusal(
    step,
    `${subject.what} would remove ${removes.length} packages and downgrade ${downgrades.length}`,
    'look at the package sources and pins of the host, or leave this host out',
  );
}

/** So many versions are named. */
const mostOffered = 8;
