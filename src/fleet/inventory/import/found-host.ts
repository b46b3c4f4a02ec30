import { excerpt } from '../../../shared/base/foreign-text.ts';
import { type HostEntry, hostEntry } from '../schema/host.ts';
import { name as hostNameInFile } from '../schema/values.ts';

/** A host that another program's file names, in the inventory's own words. */
export interface FoundHost {
  readonly name: string;
  readonly entry: HostEntry;
  /** Names of groups, of the same file. */
  readonly groups: readonly string[];
}

/** Something that the file has and that is not taken. */
export interface LeftOut {
  readonly what: string;
  readonly why: string;
}

export interface Found {
  readonly hosts: readonly FoundHost[];
  readonly leftOut: readonly LeftOut[];
}

/** More than a file of people has; a file that says more was not written by any. */
export const mostHosts = 5000;

/** What a foreign file may say of a host. Not how it is verified, nor what runs there. */
const importable = hostEntry.unwrap().pick({
  address: true,
  port: true,
  user: true,
  identityFile: true,
  jump: true,
  gpus: true,
  labels: true,
});

/**
 * A host by these values, or the reason why not: with one of them wrong another machine would be reached. The inventory
 * fills in `${VARIABLE}`, so that none may come from elsewhere.
 */
export function foundHost(name: string, values: object, groups: readonly string[]): Found {
  const refused = (why: string): Found => ({ hosts: [], leftOut: [{ what: `host ${excerpt(name)}`, why }] });
  if (!hostNameInFile.safeParse(name).success)
    return refused('a name has letters, digits, ".", "_" and "-" alone, and at most 63 of them');
  const variable = Object.entries(values).find(([, value]) => /\$\{|\{\{/.test(JSON.stringify(value)));
  if (variable !== undefined) return refused(`its ${variable[0]} holds a variable or a template`);
  const { success, data, error } = importable.safeParse(values);
  if (success) return { hosts: [{ name, entry: data, groups }], leftOut: [] };
  const [issue] = error.issues;
  if (issue?.code === 'unrecognized_keys')
    return refused(
      `of it more is said than how it is reached: ${issue.keys.slice(0, 5).map(excerpt).join(', ')}`,
    );
  const key = String(issue?.path[0] ?? '');
  const value: unknown = Reflect.get(values, key);
  return refused(`its ${key} is ${excerpt(JSON.stringify(value) ?? '')}; expected ${issue?.message ?? ''}`);
}

export function together(parts: readonly Found[]): Found {
  return {
    hosts: parts.flatMap(({ hosts }) => hosts),
    leftOut: parts.flatMap(({ leftOut }) => leftOut),
  };
}
