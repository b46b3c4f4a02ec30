import { nearest } from '../../../shared/base/nearest.ts';
import type { Path } from '../document/path.ts';
import type { HostSpec } from '../fleet.ts';
import { hasStrayBrace, isPlaceholder, placeholders, placeholdersIn } from '../pool-pattern.ts';
import type { Finding } from './host.ts';

/** Braces in names of pools that stand for nothing, each where it stands. */
export function checkPools(host: HostSpec): Finding[] {
  const { agents, name } = host;
  const slots = agents.kind === 'slots' ? agents.slots : [];
  const named: [string | undefined, Path][] = [
    [host.pool, ['hosts', name, 'pool']],
    ...slots.map(({ pool }, index): [string | undefined, Path] => [
      pool,
      ['hosts', name, 'agents', index, 'pool'],
    ]),
  ];
  return named.flatMap(([pool = '', path]) =>
    checkPattern(pool).map((finding) => ({ ...finding, path, host: name })),
  );
}

const expected = placeholders.map((name) => `{${name}}`).join(', ');

function checkPattern(pool: string): Omit<Finding, 'path'>[] {
  const code = 'inventory.pool-pattern';
  const found = placeholdersIn(pool).flatMap((name): Omit<Finding, 'path'>[] => {
    if (name === 'group')
      return [
        {
          code,
          what: '{host} is in no group, and its pool is named after one',
          seen: pool,
          next: 'put the host into a group, or give it a pool of its own',
        },
      ];
    if (isPlaceholder(name)) return [];
    const near = nearest(name, placeholders);
    return [
      {
        code,
        what: `{${name}} in the name of a pool stands for nothing`,
        expected,
        seen: pool,
        next: near === undefined ? 'take it out, or use one of these' : `did you mean "{${near}}"?`,
      },
    ];
  });
  if (!hasStrayBrace(pool)) return found;
  const what = 'a brace in the name of a pool has no partner';
  return [...found, { code, what, expected, seen: pool, next: 'close it, or take it out' }];
}
