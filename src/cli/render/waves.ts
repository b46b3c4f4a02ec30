import { styleText } from 'node:util';

import { foldNames } from '../../fleet/inventory/fold-names.ts';
import type { Wave, WavesPlan } from '../../fleet/plan/fleet-plan.ts';
import { wrap } from './lines/wrap.ts';

/** Waves that are shown one by one. */
const shown = 8;

type Style = Parameters<typeof styleText>[0];
type Paint = (style: Style, text: string) => string;

interface Entry {
  readonly head: string;
  readonly text: string;
  readonly style?: Style;
}

/** The section of a plan that says in which order hosts lose their agents. Undefined: there is nothing to say. */
export function wavesText(
  plan: WavesPlan,
  { paint, width }: { readonly paint: Paint; readonly width: number },
): string | undefined {
  const { waves, held, proveFirst, emptied, maxUnavailable, removes } = plan;
  const hosts = waves.reduce((sum, wave) => sum + wave.hosts.length, 0);
  if (hosts < 2 && held.length === 0 && proveFirst.length === 0) return undefined;
  const entries: readonly Entry[] = [
    ...(proveFirst.length === 0
      ? []
      : [{ head: '0: ', text: `${foldNames(proveFirst)}, left drained by an earlier run: proven` }]),
    ...waveEntries(waves),
    ...emptied.map((pool) => ({
      head: '! ',
      text: `pool ${pool} has no agents ${removes === true ? 'afterwards' : 'for a time'}`,
      style: 'yellow' as const,
    })),
    ...heldEntries(held),
  ];
  const last = removes === true ? 'done' : 'healthy';
  const rule = `each begins once the last is ${last}; at most ${maxUnavailable} of a pool at a time`;
  const [first = '', ...more] = wrap(rule, width, 'Waves: '.length, 4);
  return [
    `${paint('bold', 'Waves:')} ${paint('dim', first)}`,
    ...more.map((line) => paint('dim', line)),
    ...entries.flatMap((entry) => entryLines(entry, width, paint)),
  ].join('\n');
}

function entryLines({ head, text, style }: Entry, width: number, paint: Paint): string[] {
  const indent = 2 + head.length;
  return wrap(text, width, indent, indent).map((line, at) => {
    const whole = at === 0 ? `  ${head}${line}` : line;
    return style === undefined ? whole : paint(style, whole);
  });
}

function waveEntries(waves: readonly Wave[]): readonly Entry[] {
  const numbered = waves.map(({ canary, hosts }, at) => ({
    head: `${at + 1}${canary ? ` ${hosts.length === 1 ? 'canary' : 'canaries'}` : ''}: `,
    text: foldNames(hosts),
  }));
  if (waves.length <= shown) return numbered;
  const rest = waves.slice(shown - 1);
  const most = Math.max(...rest.map(({ hosts }) => hosts.length));
  const names = foldNames(rest.flatMap(({ hosts }) => hosts));
  return [
    ...numbered.slice(0, shown - 1),
    { head: `${shown} to ${waves.length}: `, text: `${names}, at most ${most} at a time` },
  ];
}

/** What is held back for the same reason is said once. */
function heldEntries(held: WavesPlan['held']): readonly Entry[] {
  const alike = Map.groupBy(held, ({ what, next }) => JSON.stringify([what, next]));
  return [...alike.values()].flatMap((same) => {
    const names = foldNames(same.map(({ host }) => host));
    return same.slice(0, 1).flatMap(({ what, next }) => [
      { head: '✗ ', text: `${names}, not begun: ${what}`, style: 'red' as const },
      { head: '  next: ', text: next },
    ]);
  });
}
