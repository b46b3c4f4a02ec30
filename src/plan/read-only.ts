import type { Session } from '../ssh/transport.ts';

/** The session for reading facts: whatever would write through it is our bug, and stops here. */
export function readOnly(session: Session): Session {
  const refuse = (what: string) => () => {
    throw new Error(`${what} while only reading from ${session.host}`);
  };
  return {
    host: session.host,
    closed: session.closed,
    script: (text, options) => session.script(text, options),
    follow: (id, options) => session.follow(id, options),
    socketAgent: (path) => session.socketAgent(path),
    upload: refuse('upload'),
    durable: refuse('durable change'),
    lock: refuse('lock'),
    close: () => session.close(),
  };
}
