import type { ManagerAnswer } from '../../../fleet/client/fleet-managers.ts';
import { foldNames } from '../../../fleet/inventory/fold-names.ts';
import { withoutOwnName } from './own-name.ts';

/**
 * The text of each answer, what reads the same of several hosts once. `text` gets what the hosts are called: its name, or
 * those of several.
 */
export function answersText<T>(
  answers: readonly ManagerAnswer<T>[],
  text: (host: string, value: T) => string,
): string {
  const given = answers.filter((answer) => 'value' in answer);
  const groups = Map.groupBy(given, ({ host, value }) => withoutOwnName(host, text('', value)));
  return [...groups.values()]
    .map((group) => {
      const [{ host, value }] = group as [(typeof given)[number], ...typeof given];
      return group.length === 1
        ? text(host, value)
        : text(foldNames(group.map((each) => each.host)), withoutOwnName(host, value));
    })
    .join('');
}
