import { parseDocument } from 'yaml';

import { excerpt } from '../../../shared/base/foreign-text.ts';
import { AnsibleGroups, type Vars } from './ansible-groups.ts';

/** Groups in groups in groups: nobody writes more. */
const deepest = 20;
/** What a vault and the like have encrypted: its text is of no use without the key. */
const tagged = ['!vault', '!vault-encrypted', '!unsafe'].map((tag) => ({ tag, resolve: () => ({ tag }) }));

/** An inventory of Ansible in YAML; undefined: it is none. */
export function parseAnsibleYaml(text: string): AnsibleGroups | undefined {
  const document = parseDocument(text, { customTags: tagged, logLevel: 'silent', prettyErrors: false });
  const value =
    document.errors.length > 0 ? undefined : plainValue(() => document.toJS({ maxAliasCount: 100 }));
  if (!isMap(value) || !Object.values(value).every((group) => group === null || isMap(group)))
    return undefined;
  const found = new AnsibleGroups();
  for (const [name, group] of Object.entries(value)) readGroup(found, name, group, deepest);
  return found;
}

/** An alias bomb is refused by throwing. */
function plainValue(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function readGroup(found: AnsibleGroups, name: string, value: unknown, levels: number): void {
  const group = found.group(name);
  if (value === null || value === undefined) return;
  if (!isMap(value) || levels === 0) {
    found.leftOut.push({ what: `group ${excerpt(name)}`, why: 'it is no group, or lies too deep' });
    return;
  }
  const { hosts, vars, children } = value;
  for (const [host, own] of entries(hosts)) found.addHosts(name, host, varsOf(own));
  for (const [key, each] of varsOf(vars)) group.vars.set(key, each);
  for (const [child, below] of entries(children)) {
    group.children.add(child);
    readGroup(found, child, below, levels - 1);
  }
}

function varsOf(value: unknown): Vars {
  return new Map(entries(value));
}

function entries(value: unknown): [string, unknown][] {
  return isMap(value) ? Object.entries(value) : [];
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
