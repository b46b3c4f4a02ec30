import { defined } from '../../shared/base/objects.ts';
import type { Drain, DrainOrder } from '../../shared/contract/drain.ts';
import type { ManagerStatus } from '../../shared/contract/status.ts';
import { shortGpu } from '../../shared/health/checkup.ts';
import type { HostCheck } from '../gpus/observe.ts';
import { isKnown } from '../webhook/episodes.ts';
import type { SlotReport } from '../webhook/messenger.ts';
import type { NewEvent } from './entries.ts';

/** Facts by their key. The history keeps the last value of each, so that a restart sees what changed without it. */
type Facts = Readonly<Record<string, string>>;

interface Change {
  readonly key: string;
  readonly value: string;
  /** Undefined: it was not known before. */
  readonly event?: NewEvent;
}

const none = '-';

/** Returns the facts that have changed, with their events. A value '' is not known now, and changes nothing. Pure. */
export function changesIn(
  facts: Facts,
  before: (key: string) => string | number | undefined,
): readonly Change[] {
  return Object.entries(facts).flatMap(([key, value]) => {
    const old = before(key);
    if (value === '' || value === old) return [];
    const [family = '', ...rest] = key.split(' ');
    const event = old === undefined && !isEventAtFirst(family, value) ? undefined : eventOf[family];
    // The first value of most facts is no change.
    if (event === undefined) return [{ key, value }];
    return [{ key, value, event: event(value, String(old ?? none), rest.join(' ')) }];
  });
}

/** A slot is not quarantined until one says so. */
function isEventAtFirst(family: string, value: string): boolean {
  return family === 'quarantine' && value !== none;
}

const eventOf: Readonly<Record<string, (value: string, old: string, of: string) => NewEvent>> = {
  boot: () => ({ kind: 'reboot', what: 'the host started again' }),
  driver: (value, old) => ({ kind: 'driver', what: `driver ${old} → ${value}` }),
  config: (value, old) => ({ kind: 'config', what: `configuration ${short(old)} → ${short(value)}` }),
  manager: (value, old) => ({ kind: 'manager', what: `manager ${old} → ${value}` }),
  image: (value, old, reference) => ({
    kind: 'image',
    what: `${reference}: ${short(old)} → ${short(value)}`,
  }),
  verdict: (value, old) => ({ kind: 'verdict', what: `${stateOf(old)} → ${value}` }),
  quarantine: (value, old, slot) => ({
    kind: 'quarantine',
    slot,
    what: value === none ? `slot ${slot} is open again (${old})` : `slot ${slot} quarantined: ${value}`,
  }),
};

/** Returns the state of a verdict with its cause. */
function stateOf(verdict: string): string {
  return verdict.split(': ', 1)[0] ?? verdict;
}

function short(digest: string): string {
  return digest.replace(/^sha256:/, '').slice(0, 12);
}

/** Returns the facts in a status. Pure. */
export function ofStatus({ configHash, version, images }: ManagerStatus): Facts {
  const ofImages = images.flatMap(({ reference, digest }) =>
    reference === undefined || digest === undefined ? [] : [[`image ${reference}`, digest] as const],
  );
  return { config: configHash, manager: version, ...Object.fromEntries(ofImages) };
}

/** Returns the facts in a check of the GPUs. Pure. */
export function ofCheck({ checkup: { verdict, findings, report } }: Pick<HostCheck, 'checkup'>): Facts {
  const worst = findings.find(({ severity }) => severity !== 'info');
  const on = worst?.gpu === undefined ? '' : ` on ${shortGpu(worst.gpu)}`;
  const why = worst === undefined ? '' : `: ${worst.code}${on}`;
  return { verdict: `${verdict.state}${why}`, driver: report?.driverVersion ?? '' };
}

/** Returns why each slot is quarantined. One whose GPUs are not known now has no fact. Pure. */
export function ofSlots(slots: readonly SlotReport[]): Facts {
  return Object.fromEntries(
    slots.flatMap(({ slot, hold }) => {
      if (hold?.state === 'quarantined') return [[`quarantine ${slot.name}`, hold.cause.code]];
      return isKnown(hold) ? [[`quarantine ${slot.name}`, none]] : [];
    }),
  );
}

/** Returns the event of an order to drain. Pure. */
export function drainEvent({ slots, reason, owner, command, until }: DrainOrder): NewEvent {
  const place = slots.length === 0 ? 'host' : `${slots.length === 1 ? 'slot' : 'slots'} ${slots.join(', ')}`;
  const parts = [reason, command, until === undefined ? undefined : `until ${until.slice(0, 16)}Z`];
  const why = parts.filter((part) => part !== undefined && part !== '').join('; ');
  return {
    kind: 'drain',
    what: `${place} drained${why === '' ? '' : `: ${why}`}`,
    ...defined({ who: owner }),
  };
}

/** Returns the events of drains that have ended. `who`: who ended them, if known. Pure. */
export function undrainEvents(
  before: readonly Drain[],
  after: readonly Drain[],
  who: string | undefined,
): readonly NewEvent[] {
  const left = new Set(after.map((drain) => JSON.stringify(drain)));
  return before
    .filter((drain) => !left.has(JSON.stringify(drain)))
    .map(({ slot, owner, reason }) => {
      const place = slot === undefined ? 'host' : `slot ${slot}`;
      const whose = [owner, reason].filter((part) => part !== undefined && part !== '').join(': ');
      return {
        kind: 'drain',
        what: `${place}: drain ended${whose === '' ? '' : ` (${whose})`}`,
        ...defined({ who, slot }),
      };
    });
}
