/** Between two jobs an agent is away for about ten seconds; nothing is said before a minute. Milliseconds. */
export const settleMs = 60_000;
/**
 * From the container's start an agent needs about ten seconds until it listens, and one that waits for a job leaves
 * within seconds; several do at once.
 */
export const startMs = 90_000;
/** The manager looks every 30 s; a report that is older than this is no verdict. */
export const staleMs = 5 * 60_000;
