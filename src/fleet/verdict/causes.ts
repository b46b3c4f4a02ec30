/** Causes of the manager that only a person ends: there is nothing to wait for. */
const certain: ReadonlySet<string> = new Set([
  'agent.name-held',
  'agent.no-digest',
  'agent.not-configured',
  'agent.other-archive',
  'agent.unreadable',
  'azure.auth',
  'azure.certificate',
  'azure.deactivated',
  'azure.permission',
  'azure.server-too-old',
  'dataset.unusable',
  'disk.full',
  'engine.cuda-too-new',
  'engine.no-gpu-driver',
  'fence.network',
  'fence.open',
  'gpu.missing',
  'host-mode.folder-closed',
  'host-mode.libraries',
  'host-mode.no-user',
  'image.outdated',
  'image.rejected',
  'pool.missing',
]);

/** The server holds a session that nobody polls: jobs that are given to the agent wait for its end. */
const conflicts: ReadonlySet<string> = new Set(['agent.session-conflict', 'agent.session-left']);

/** What every start goes through, for seconds. */
const steps: ReadonlySet<string> = new Set([
  'container.gone',
  'fence.unknown',
  'health.unknown',
  'image.not-ready',
  'pool.unknown',
  'slot.container-exists',
  'slot.gone',
]);

type CauseKind = 'certain' | 'conflict' | 'step' | 'other';

/** What a cause's code says of how it ends. Absent: nothing is wrong. Pure. */
export function kindOf(code: string | undefined): CauseKind {
  if (code === undefined || steps.has(code)) return 'step';
  if (certain.has(code)) return 'certain';
  return conflicts.has(code) ? 'conflict' : 'other';
}

/** Between two jobs an agent is away for about ten seconds; nothing is said before a minute. Milliseconds. */
export const settleMs = 60_000;
/**
 * From the container's start an agent needs about ten seconds until it listens, and one that waits for a job leaves
 * within seconds; several do at once.
 */
export const startMs = 90_000;
/** The manager looks every 30 s; a report that is older than this is no verdict. */
export const staleMs = 5 * 60_000;
