import { nextId, type Fake } from '../world/fake.ts';
import type { MaintenanceDefinition } from '../world/state.ts';
import { days, everyDay } from '../shapes/maintenance.ts';

type Body = Readonly<Record<string, unknown>>;

const part = (body: Body, name: string) => Object(body[name]) as Body;

/** A number of a body, kept between bounds. */
function numberIn(body: Body, name: string, fallback: number, most: number): number {
  const value = body[name];
  return typeof value === 'number' ? Math.min(Math.max(Math.trunc(value), 0), most) : fallback;
}

/** `monday, friday`, `all`, or the bits themselves. */
function daysOf(given: unknown): number {
  if (typeof given === 'number') return Math.trunc(given) & everyDay;
  const names = typeof given === 'string' ? given.toLowerCase().split(/[\s,]+/u) : [];
  if (names.includes('all')) return everyDay;
  return days.reduce((bits, day, index) => (names.includes(day) ? bits | (1 << index) : bits), 0);
}

/** A definition as somebody sends it; what is left out is what the pages of the service propose (not verified). */
export function definitionOf(fake: Fake, poolId: number, body: Body, known?: MaintenanceDefinition) {
  const schedule = part(body, 'scheduleSetting');
  return {
    id: known?.id ?? nextId(fake),
    poolId,
    enabled: body['enabled'] === true,
    jobTimeoutInMinutes: numberIn(body, 'jobTimeoutInMinutes', 60, 10_000),
    maxConcurrentAgentsPercentage: numberIn(body, 'maxConcurrentAgentsPercentage', 25, 100),
    workingDirectoryExpirationInDays: numberIn(
      part(body, 'options'),
      'workingDirectoryExpirationInDays',
      30,
      10_000,
    ),
    numberOfHistoryRecordsToKeep: numberIn(
      part(body, 'retentionPolicy'),
      'numberOfHistoryRecordsToKeep',
      10,
      10_000,
    ),
    schedule: {
      days: daysOf(schedule['daysToBuild']),
      startHours: numberIn(schedule, 'startHours', 0, 23),
      startMinutes: numberIn(schedule, 'startMinutes', 0, 59),
      timeZoneId: typeof schedule['timeZoneId'] === 'string' ? schedule['timeZoneId'] : 'UTC',
      jobId: known?.schedule.jobId ?? crypto.randomUUID(),
    },
  } satisfies MaintenanceDefinition;
}
