import { agentOf } from '../world/agent-index.ts';
import type { Fake } from '../world/fake.ts';
import { admin } from '../world/identities.ts';
import type { MaintenanceDefinition, MaintenanceJob } from '../world/state.ts';
import { describeAgentReference } from './agent-reference.ts';
import { describeIdentity } from './identity.ts';
import { describePoolReference } from './pool.ts';

/** Days of a schedule, one bit each. */
export const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
export const everyDay = 127;

/** `monday, friday`, as .NET writes flags. */
function describeDays(bits: number): string {
  if (bits === everyDay) return 'all';
  return days.filter((_, index) => (bits & (1 << index)) !== 0).join(', ') || 'none';
}

function poolReference(fake: Fake, poolId: number) {
  const pool = fake.state.pools.find(({ id }) => id === poolId);
  return pool === undefined ? {} : { pool: describePoolReference(fake, pool) };
}

export function describeDefinition(fake: Fake, definition: MaintenanceDefinition) {
  const { schedule } = definition;
  return {
    id: definition.id,
    ...poolReference(fake, definition.poolId),
    enabled: definition.enabled,
    jobTimeoutInMinutes: definition.jobTimeoutInMinutes,
    maxConcurrentAgentsPercentage: definition.maxConcurrentAgentsPercentage,
    options: { workingDirectoryExpirationInDays: definition.workingDirectoryExpirationInDays },
    retentionPolicy: { numberOfHistoryRecordsToKeep: definition.numberOfHistoryRecordsToKeep },
    scheduleSetting: {
      scheduleJobId: schedule.jobId,
      startHours: schedule.startHours,
      startMinutes: schedule.startMinutes,
      daysToBuild: describeDays(schedule.days),
      timeZoneId: schedule.timeZoneId,
    },
  };
}

/** A job waits until somebody cancels it: agents here do no maintenance. */
export function describeJob(fake: Fake, baseUrl: string, job: MaintenanceJob) {
  const result = job.status === 'completed' ? { result: 'canceled' } : {};
  return {
    jobId: job.id,
    ...poolReference(fake, job.poolId),
    definitionId: job.definitionId,
    orchestrationId: job.orchestrationId,
    requestedBy: describeIdentity(baseUrl, admin),
    queueTime: job.queueTime,
    status: job.status,
    ...result,
    errorCount: 0,
    warningCount: 0,
    targetAgents: job.agents.flatMap((id) => {
      const agent = agentOf(fake.state, id);
      if (agent === undefined) return [];
      const reference = describeAgentReference(baseUrl, agent, 'offline');
      return [{ jobId: job.id, agent: reference, status: job.status, ...result }];
    }),
  };
}
