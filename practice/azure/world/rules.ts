/** The service's slow rules in milliseconds; a fast clock divides them. Sources: the project's notes on the agent. */
export const Rules = {
  /** How long GET messages waits for one. */
  longPoll: 50_000,
  /** A session that nobody polls ends. */
  sessionExpiry: 5 * 60_000,
  /** An agent renews the lock of its job each minute; the lock lasts ten. */
  lock: 10 * 60_000,
  /** After the lock has run out the job is given up: "We stopped hearing from agent", about 14 minutes after the last sign. */
  lockGrace: 4 * 60_000,
  accessToken: 60 * 60_000,
  /** A worker logs in once for its whole job. */
  jobToken: 48 * 60 * 60_000,
} as const;
