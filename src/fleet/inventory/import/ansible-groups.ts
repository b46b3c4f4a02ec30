import { excerpt } from '../../../shared/base/foreign-text.ts';
import { mostHosts, type LeftOut } from './found-host.ts';
import { expandRange } from './host-range.ts';

export type Vars = Map<string, unknown>;

interface AnsibleGroup {
  readonly hosts: Map<string, Vars>;
  readonly vars: Vars;
  readonly children: Set<string>;
}

/** What an inventory of Ansible says, whichever way it is written. */
export class AnsibleGroups {
  readonly groups = new Map<string, AnsibleGroup>();
  readonly leftOut: LeftOut[] = [];
  readonly #hosts = new Set<string>();

  group(name: string): AnsibleGroup {
    const known = this.groups.get(name);
    if (known !== undefined) return known;
    const made = {
      hosts: new Map<string, Vars>(),
      vars: new Map<string, unknown>(),
      children: new Set<string>(),
    };
    this.groups.set(name, made);
    return made;
  }

  /** `pattern`: a name, a range of them, with a port behind a colon or without. */
  addHosts(group: string, pattern: string, vars: Vars): void {
    const [, name = pattern, port] = /^([^:]*(?:\[[^\]]*\][^:]*)*):(\d+)$/.exec(pattern) ?? [];
    const names = expandRange(name, mostHosts);
    if (names === undefined || this.#hosts.size + names.length > mostHosts) {
      this.leftOut.push({ what: excerpt(pattern), why: `no range, or more than ${mostHosts} hosts` });
      return;
    }
    const { hosts } = this.group(group);
    for (const each of names) {
      this.#hosts.add(each);
      const before = hosts.get(each) ?? new Map<string, unknown>();
      const withPort: [string, unknown][] = port === undefined ? [] : [['ansible_port', port]];
      hosts.set(each, new Map([...before, ...withPort, ...vars]));
    }
  }
}
