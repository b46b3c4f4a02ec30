import { invalidArgument, missingArgument, nameRefusal } from '../http/arguments.ts';
import type { Reply } from '../http/reply.ts';

type Body = Readonly<Record<string, unknown>>;

/** What is wrong with an agent that somebody sends; undefined: nothing. A change may leave name and version out. */
export function agentRefusal(body: Body, mode: 'add' | 'replace'): Reply | undefined {
  const { name, version, systemCapabilities, userCapabilities } = body;
  const given = (value: unknown) => value !== undefined && value !== null && value !== '';
  return (
    (mode === 'add' || given(name)
      ? nameRefusal(name, { parameter: 'agent.Name', what: 'Agent', longest: 64 })
      : undefined) ??
    (mode === 'add' || given(version) ? versionRefusal(version) : undefined) ??
    capabilityRefusal(systemCapabilities, 'agent.SystemCapabilities') ??
    capabilityRefusal(userCapabilities, 'agent.UserCapabilities')
  );
}

function versionRefusal(version: unknown): Reply | undefined {
  return typeof version === 'string' && /^\d+\.\d+(?:\.\d+){0,2}/u.test(version)
    ? undefined
    : invalidArgument('The agent version is not valid.', 'agent.Version');
}

/** Names of at most 256 characters without blanks around them, values of at most 1024 (read from the server's check). */
export function capabilityRefusal(given: unknown, parameter: string): Reply | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given !== 'object') return missingArgument(parameter);
  for (const [name, value] of Object.entries(given)) {
    if (value === null) continue;
    if (name === '' || name.length > 256 || name.trim() !== name) {
      return invalidArgument(`Capability name ${name.slice(0, 300)} is not valid.`, parameter);
    }
    if (String(value).length > 1024) {
      return invalidArgument(`The value of capability ${name} has more than 1024 characters.`, parameter);
    }
  }
  return undefined;
}

/** Capabilities as they are kept: those whose value is null fall away. */
export function capabilitiesOf(given: unknown): Record<string, string> {
  const entries = Object.entries(Object(given) as Record<string, unknown>);
  return Object.fromEntries(
    entries.filter(([, value]) => value !== null).map(([name, value]) => [name, String(value)]),
  );
}
