/** Causes in a manager's report that only a user can fix: waiting does not help. */
const permanent: ReadonlySet<string> = new Set([
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

/** The server has a session that no agent polls: jobs assigned to the agent wait for the session's end. */
const conflicts: ReadonlySet<string> = new Set(['agent.session-conflict', 'agent.session-left']);

/** States that every start passes through within seconds. */
const startup: ReadonlySet<string> = new Set([
  'container.gone',
  'fence.unknown',
  'health.unknown',
  'image.not-ready',
  'pool.unknown',
  'slot.container-exists',
  'slot.gone',
]);

type CauseKind = 'permanent' | 'conflict' | 'startup' | 'other';

/** Classifies a cause by how it ends. Absent: no problem. Pure. */
export function kindOf(code: string | undefined): CauseKind {
  if (code === undefined || startup.has(code)) return 'startup';
  if (permanent.has(code)) return 'permanent';
  return conflicts.has(code) ? 'conflict' : 'other';
}

/** Milliseconds before a missing agent is reported. Between two jobs an agent is away for about ten seconds. */
export const settleMs = 60_000;
/**
 * Milliseconds for a start or a stop. An agent listens about ten seconds after its container's start, and an idle one stops within
 * seconds; several at once take longer.
 */
export const startMs = 90_000;
