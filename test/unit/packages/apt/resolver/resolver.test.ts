// Every plan is put to apt's own resolver, with real package lists: "installable" is apt's word, and not ours.
// What comes out is compared with the texts in tables/; `vitest -u` writes them anew, for somebody to read.
import { describe, expect, it } from 'vitest';

import { systems, type SystemName } from '../../../../support/apt-world/systems.ts';
import { aptIsHere, AptWorld } from '../../../../support/apt-world/world.ts';
import { desiredOf } from '../../../../support/host.ts';
import type { ResolverCase, Subject } from './case.ts';
import { docker } from './docker-cases.ts';
import { play, type Played } from './play.ts';

const subjects: Readonly<Record<string, Subject>> = { docker };
const names = Object.keys(systems) as SystemName[];
const cases = Object.entries(subjects).flatMap(([subject, { cases: of, steps }]) =>
  names.flatMap((on) =>
    of(on).map((one) => [`${subject} on ${on}, ${one.history}: ${one.what}`, { on, steps, one }] as const),
  ),
);

describe("apt's resolver", () => {
  it.each(aptIsHere() ? cases : [])('%s', async (title, { on, steps, one }) => {
    const world = new AptWorld(on, one.past);
    try {
      const desired = desiredOf(one.wish);
      const first = await play(world, steps, await world.facts(one.facts), desired);
      const second = await play(world, steps, first.facts, desired);
      await expect(textOf(title, one, first, second)).toMatchFileSnapshot(fileOf(title));
    } finally {
      world.remove();
    }
  });

  it('is given hosts of every history', () => {
    const histories = new Set(cases.map(([, { one }]) => one.history));
    expect(histories.size).toBeGreaterThan(5);
  });
});

function textOf(
  title: string,
  { past = {}, facts = {}, wish = {} }: ResolverCase,
  first: Played,
  second: Played,
): string {
  const given = Object.entries({ ...past, ...facts, ...wish }).map(
    ([key, value]) => `${key}: ${JSON.stringify(value)}`,
  );
  return [
    `# ${title}`,
    ...given.map((line) => `given ${line}`),
    '',
    ...told(first),
    '',
    'and again',
    ...told(second),
    '',
  ].join('\n');
}

function told({ plan, asked, failed }: Played): string[] {
  return [
    ...(plan.length === 0 ? ['nothing to do'] : plan),
    ...asked.map((words) => `apt-get ${words}`),
    ...(failed === undefined ? [] : [`FAILED ${failed}`]),
  ];
}

/** `docker on Debian 13, fresh: nothing there` → `tables/debian-13/docker-fresh-nothing-there.txt` */
function fileOf(title: string): string {
  const [subject = '', system = '', rest = ''] = title.split(/ on |, (?=[a-z-]+: )/);
  const slug = (text: string): string =>
    text
      .toLowerCase()
      .replaceAll(/[^a-z0-9.]+/g, '-')
      .replaceAll(/^-|-$/g, '');
  return `tables/${slug(system)}/${slug(subject)}-${slug(rest)}.txt`;
}
