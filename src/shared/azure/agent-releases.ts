import { FleetError } from '../base/errors.ts';
import { isObject } from '../base/objects.ts';
import type { Answered } from '../base/reading.ts';
import type { AgentArch } from '../contract/agent-release.ts';
import { calls } from './calls.ts';
import { createRest, type RestOptions } from './http/rest.ts';

/** Reads which agents the server offers. */
export interface AgentReleases {
  /** Returns the newest release for an architecture. Never rejects for an answer of the server. */
  newest(arch: AgentArch): Promise<Answered<string>>;
}

export function createAgentReleases(options: RestOptions): AgentReleases {
  const rest = createRest(options);
  return {
    newest: async (arch) => {
      try {
        const version = readRelease(await rest.send(calls.newestAgent(`linux-${arch}`)));
        return version === undefined
          ? { kind: 'unknown', why: 'Azure DevOps lists no agent for this architecture' }
          : { kind: 'value', value: version };
      } catch (error) {
        if (!(error instanceof FleetError)) throw error;
        return { kind: 'unknown', why: error.problem.what };
      }
    },
  };
}

/** Returns the version of the first package of a list; undefined: there is none, or it has no version. Pure. */
export function readRelease(answer: unknown): string | undefined {
  const list: unknown = isObject(answer) ? answer['value'] : undefined;
  const first: unknown = Array.isArray(list) ? list[0] : undefined;
  const version: unknown = isObject(first) ? first['version'] : undefined;
  if (!isObject(version)) return undefined;
  const numbers = [version['major'], version['minor'], version['patch']];
  return numbers.every((each) => Number.isInteger(each) && Number(each) >= 0 && Number(each) < 1e6)
    ? numbers.join('.')
    : undefined;
}
