import type { CommandSpec } from './command.ts';

/** What may stand in the place of an argument or an option's value. */
export type Kind =
  | 'hosts'
  | 'host'
  | 'target'
  | 'slot'
  | 'pools'
  | 'projects'
  | 'files'
  | 'inventory'
  | 'shell'
  | 'code'
  | 'other';

interface Meaning {
  readonly about: string;
  readonly kind: Kind;
}

const patterns = 'names, groups, labels (room=b12), globs (h200-*), exclusions (!h200-3)';

/** Arguments by the names that the tables of commands give them. */
const meanings: Readonly<Record<string, Meaning>> = {
  hosts: { about: `hosts: ${patterns}`, kind: 'hosts' },
  targets: { about: `hosts: ${patterns}`, kind: 'hosts' },
  host: { about: 'one host, by its name', kind: 'host' },
  target: { about: 'a host, or one slot of it: HOST/SLOT', kind: 'target' },
  pools: { about: 'agent pools, by their names', kind: 'pools' },
  pool: { about: 'an agent pool, by its name', kind: 'pools' },
  files: { about: 'files with what was printed; - for what comes by a pipe', kind: 'files' },
  shell: { about: 'bash, zsh or fish', kind: 'shell' },
  code: { about: 'a code, as the brackets behind a message show it, or xid.NUMBER', kind: 'code' },
};

export interface Argument extends Meaning {
  /** As the table has it: `<host>`, `[hosts...]`. */
  readonly notation: string;
}

/** The arguments of a command, with what they mean. */
export function argumentsOf(spec: Pick<CommandSpec, 'positionals' | 'arguments'>): readonly Argument[] {
  return (spec.positionals ?? '')
    .split(' ')
    .filter(Boolean)
    .map((notation) => {
      const name = notation.replaceAll(/[<>[\].]/g, '');
      const own = spec.arguments?.[name];
      const { about, kind } = meanings[name] ?? { about: '', kind: 'other' };
      if (own !== undefined) return { notation, kind, about: own };
      const all = notation.endsWith('...]') && (kind === 'hosts' || kind === 'pools');
      return { notation, kind, about: all ? `${about}; without any: all` : about };
    });
}

/** What follows an option; undefined where nothing does. */
export function valueOf(flags: string): Kind | undefined {
  const [, place] = /<(\w+)>/.exec(flags) ?? [];
  if (place === undefined) return undefined;
  if (flags.includes('--inventory')) return 'inventory';
  if (place === 'file') return 'files';
  if (flags.includes('--limit')) return 'hosts';
  if (flags.includes('--gone')) return 'host';
  if (flags.includes('--slot')) return 'slot';
  if (flags.includes('--pool')) return 'pools';
  return flags.includes('--project') ? 'projects' : 'other';
}
