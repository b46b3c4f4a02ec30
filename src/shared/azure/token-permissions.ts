import { calls, readPool, readProjectName } from './calls.ts';
import { hasCode } from './http/errors.ts';
import { createRest, type RestOptions } from './http/rest.ts';

/** Reads what a token may do, before its first use. Changes nothing. */
export interface TokenPermissions {
  /** Names of the organization's projects, sorted; undefined when the token may not list them. */
  listProjects(): Promise<readonly string[] | undefined>;
  /** Names of the pools that the token's user administers. */
  managedPools(): Promise<readonly string[]>;
  /**
   * Whether the token's scope allows writing to agent pools; undefined when the server does not report it. Calls beyond the scope are
   * answered like those with a wrong token; a refusal for lack of a role reports nothing about the scope.
   */
  mayWritePools(): Promise<boolean | undefined>;
}

/** An id that no pool has: the largest 32-bit number. */
const noPool = 2_147_483_647;
const most = 1000;

export function createTokenPermissions(options: RestOptions): TokenPermissions {
  const rest = createRest(options);
  return {
    listProjects: async () => {
      try {
        const { value } = Object(await rest.send(calls.listProjects(most))) as { readonly value?: unknown };
        const projects = Array.isArray(value) ? value.flatMap((item) => readProjectName(item) ?? []) : [];
        return projects.toSorted((one, other) => one.localeCompare(other));
      } catch (error) {
        if (isRefusal(error)) return undefined;
        throw error;
      }
    },
    managedPools: async () => {
      const { value } = Object(await rest.send(calls.managedPools())) as { readonly value?: unknown };
      return Array.isArray(value) ? value.flatMap((item) => readPool(item)?.name ?? []) : [];
    },
    mayWritePools: async () => {
      try {
        await rest.send(calls.setAutoUpdate(noPool, false));
        return undefined;
      } catch (error) {
        if (hasCode(error, 'azure.not-found')) return true;
        if (hasCode(error, 'azure.auth')) return false;
        if (hasCode(error, 'azure.permission')) return undefined;
        throw error;
      }
    },
  };
}

function isRefusal(error: unknown): boolean {
  return hasCode(error, 'azure.auth') || hasCode(error, 'azure.permission');
}
