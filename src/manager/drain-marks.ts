import { defined } from '../shared/base/defined.ts';
import { withRunOfReason, type DrainMark } from '../shared/contract/drain.ts';

/**
 * Who keeps jobs away, as it is kept on disk. A person's mark and that of a run of `provision` can be on a host at the
 * same time.
 */
export interface DrainMarks {
  /** The person's mark. Where there is none, a copy of provision's: a manager that knows no runs looks only here. */
  readonly host?: DrainMark;
  readonly provision?: DrainMark;
  readonly slots: Readonly<Record<string, DrainMark>>;
}

/** The person's mark on the host. Pure. */
export function personal({ host }: DrainMarks): DrainMark | undefined {
  return host?.run === undefined ? host : undefined;
}

/** The host's marks as they are kept. Pure. */
export function onHost(
  person: DrainMark | undefined,
  provision: DrainMark | undefined,
): Omit<DrainMarks, 'slots'> {
  return defined({ host: person ?? provision, provision });
}

/** The marks of a state file, whichever version wrote it. A mark that cannot be read drains all the same. Pure. */
export function readMarks(found: unknown): DrainMarks {
  const { host, provision, slots, ...others } = Object(found) as Readonly<Record<string, unknown>>;
  const inSlots = Object.entries(Object(slots) as object).map(([slot, mark]) => [slot, readMark(mark)]);
  const said = readMark(host);
  const whole = said && withRunOfReason(said);
  const run = readMark(provision) ?? (whole?.run === undefined ? undefined : whole);
  return {
    ...others,
    ...onHost(whole?.run === undefined ? whole : undefined, run),
    slots: Object.fromEntries(inSlots.filter(([, mark]) => mark !== undefined)) as DrainMarks['slots'],
  };
}

function readMark(found: unknown): DrainMark | undefined {
  if (found === undefined || found === null) return undefined;
  const { reason, at, owner, run, ...others } = Object(found) as Readonly<Record<string, unknown>>;
  const said = { reason: text(reason) ?? '', at: text(at) ?? '' };
  return { ...others, ...said, ...defined({ owner: text(owner), run: text(run) }) };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
