import { hangsMs, ScratchHost, type Outcome, type Run } from './host.ts';

/** A script on a host in some state, and all its effects: any effect that is not listed fails the case. */
export interface ScriptCase {
  readonly name: string;
  readonly script: string;
  readonly given?: (host: ScratchHost) => unknown;
  readonly run?: Partial<Run>;
  /** Effects that are not listed: code 0, nothing printed, nothing called, no file changed. */
  readonly after: Partial<Outcome>;
}

/** The scripts of one kind, and their effects by host. */
export interface ScriptSuite {
  readonly name: string;
  /** Prepares the host for all cases. */
  readonly given?: (host: ScratchHost) => unknown;
  readonly flags?: readonly string[];
  /** Parts of the scripts that another suite tests. */
  readonly elsewhere?: readonly string[];
  readonly cases: readonly ScriptCase[];
}

/** Runs a case; `script` replaces its script. */
export async function outcomeOf(
  { given, flags = ['-eu'] }: ScriptSuite,
  one: ScriptCase,
  script = one.script,
  limitMs = hangsMs,
): Promise<Outcome> {
  const host = new ScratchHost();
  try {
    // A pattern that is not quoted becomes the name of a file.
    host.matching(one.script);
    await given?.(host);
    await one.given?.(host);
    return await host.run(script, { flags, args: [], input: '', env: {}, umask: '022', limitMs, ...one.run });
  } finally {
    host.remove();
  }
}

export function expectedOf({ after }: ScriptCase): Outcome {
  return { code: 0, stdout: '', stderr: '', calls: [], files: {}, ...after };
}
