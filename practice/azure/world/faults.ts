/** What shall go wrong with the next calls. */
export interface Fault {
  /** How many calls it hits; each hit counts down. */
  readonly count: number;
  /** 203 gives the sign-in page, 302 a redirect to it, 429 and 5xx an error body. Without it the call works. */
  readonly status?: number;
  /** Answered with 503 and the words for an organization that nobody has used for long. */
  readonly deactivated?: boolean;
  /** Seconds, sent with whatever the answer is. */
  readonly retryAfterS?: number;
  readonly delayMs?: number;
  /** The connection is closed without an answer: before the call is carried out, or after it. */
  readonly drop?: 'before' | 'after';
  readonly method?: string;
  /** A regular expression on the path. */
  readonly path?: string;
  /** Calls of management clients (the default), of agents, or both. */
  readonly callers?: 'clients' | 'agents' | 'all';
}

/** The first fault that applies to this call, counted down. */
export function takeFault(
  faults: { fault: Fault; left: number }[],
  call: { readonly method: string; readonly path: string; readonly agent: boolean },
): Fault | undefined {
  const found = faults.find(({ fault, left }) => left > 0 && applies(fault, call));
  if (found === undefined) return undefined;
  found.left -= 1;
  return found.fault;
}

function applies(fault: Fault, call: { method: string; path: string; agent: boolean }): boolean {
  const callers = fault.callers ?? 'clients';
  return (
    (callers === 'all' || (callers === 'agents') === call.agent) &&
    (fault.method === undefined || fault.method === call.method) &&
    (fault.path === undefined || new RegExp(fault.path, 'u').test(call.path))
  );
}
