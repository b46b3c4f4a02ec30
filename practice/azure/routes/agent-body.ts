import { invalidArgument, missingArgument, nameRefusal } from '../http/arguments.ts';
import { publicKeyOf } from '../http/agent-key.ts';
import { textOf, type Reply } from '../http/reply.ts';
import type { FakeAgent } from '../world/state.ts';

type Body = Readonly<Record<string, unknown>>;

/** What is wrong with an agent that somebody sends; undefined: nothing. A change may leave name and version out. */
export function agentRefusal(body: Body, mode: 'whole' | 'change', id?: string): Reply | undefined {
  const { name, version, systemCapabilities, userCapabilities } = body;
  return (
    idRefusal(body['id'], id) ??
    (mode === 'whole' || given(name)
      ? nameRefusal(name, { parameter: 'agent.Name', what: 'Agent', longest: 64 })
      : undefined) ??
    (mode === 'whole' || given(version) ? versionRefusal(version) : undefined) ??
    parallelismRefusal(body['maxParallelism']) ??
    enabledRefusal(body['enabled']) ??
    capabilityRefusal(systemCapabilities, 'agent.SystemCapabilities') ??
    capabilityRefusal(userCapabilities, 'agent.UserCapabilities') ??
    keyRefusal(body)
  );
}

/** The public key that an agent is to be known by; undefined: none is said. Its parts are empty where they are no text. */
export function publicKeyIn(body: Body): FakeAgent['publicKey'] {
  const { publicKey } = Object(body['authorization']) as { publicKey?: unknown };
  if (publicKey === undefined || publicKey === null) return undefined;
  const parts = Object(publicKey) as Body;
  return { exponent: textOf(parts, 'exponent'), modulus: textOf(parts, 'modulus') };
}

function keyRefusal(body: Body): Reply | undefined {
  const key = publicKeyIn(body);
  return key === undefined || publicKeyOf(key) !== undefined
    ? undefined
    : invalidArgument('The public key is not valid.', 'agent.Authorization.PublicKey');
}

const given = (value: unknown) => value !== undefined && value !== null && value !== '';

/** 0 is what clients write who do not know it. */
function idRefusal(value: unknown, id: string | undefined): Reply | undefined {
  return id === undefined || !given(value) || value === 0 || Number(value) === Number(id)
    ? undefined
    : invalidArgument('The agent is not the one that the path names.', 'agent.Id');
}

function parallelismRefusal(value: unknown): Reply | undefined {
  return !given(value) || (Number.isInteger(value) && Number(value) > 0)
    ? undefined
    : invalidArgument('The number of jobs at a time is not valid.', 'agent.MaxParallelism');
}

function enabledRefusal(value: unknown): Reply | undefined {
  return value === undefined || value === null || typeof value === 'boolean'
    ? undefined
    : invalidArgument('The value is neither true nor false.', 'agent.Enabled');
}

export function versionRefusal(version: unknown): Reply | undefined {
  return typeof version === 'string' && /^\d+\.\d+(?:\.\d+){0,2}/u.test(version)
    ? undefined
    : invalidArgument('The agent version is not valid.', 'agent.Version');
}

/** Names of at most 256 characters without blanks around them, values of at most 1024 (read from the server's check). */
export function capabilityRefusal(given: unknown, parameter: string): Reply | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given !== 'object' || Array.isArray(given)) return missingArgument(parameter);
  for (const [name, value] of Object.entries(given)) {
    if (value === null) continue;
    if (name === '' || name.length > 256 || name.trim() !== name) {
      return invalidArgument(`Capability name ${name.slice(0, 300)} is not valid.`, parameter);
    }
    if (typeof value === 'object') {
      return invalidArgument(`The value of capability ${name} is no text.`, parameter);
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
