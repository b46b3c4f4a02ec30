import { sha256, stableJson } from '../../shared/base/digest.ts';

/** What a run says about its changes of one host, for the audit files. */
export interface AuditEntry {
  readonly host: string;
  /** Identifies the run; the lines of one run on one host have the same. */
  readonly run: string;
  /** `user@laptop`, as the client says. */
  readonly who: string;
  /** The command line. */
  readonly command: string;
  /** The key, or the method, of the login, as the client says: `SHA256:…`, `password`. Absent: unknown. */
  readonly key?: string;
  /** Digest of all announced changes. */
  readonly plan: string;
  /** Ids of the announced changes: step, name, and a digest of what they do; of very many the first ones and the number of others. */
  readonly changes: readonly string[];
}

/** A part of a plan that the entry names. */
interface Announced {
  readonly kind: 'change' | 'shape';
  readonly id?: string;
}

/** Longest text of an entry, in characters: a line of the system's log has a limit, too. */
const longest = 300;
const mostChanges = 30;

/** Returns the entry of a host's plan. Pure. */
export function auditEntry(
  stages: readonly (readonly Announced[])[],
  of: Pick<AuditEntry, 'host' | 'run' | 'who' | 'command'>,
): AuditEntry {
  const announced = stages.flat();
  const ids = announced.flatMap(({ id }) => id ?? []);
  const left = ids.length - mostChanges;
  return {
    host: cut(of.host),
    run: cut(of.run),
    who: cut(of.who),
    command: cut(of.command),
    plan: sha256(stableJson(announced)).slice(0, 16),
    changes: left > 0 ? [...ids.slice(0, mostChanges), `${left} more`] : ids,
  };
}

function cut(text: string): string {
  return text.slice(0, longest);
}
