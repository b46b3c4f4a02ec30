import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { desiredOf } from '../host.ts';
import type { ResolverCase, Subject } from './case.ts';
import { docker } from './docker-cases.ts';
import { driver } from './driver-cases.ts';
import { kernels } from './kernel-cases.ts';
import { libraries } from './library-cases.ts';
import { ownDriver } from './own-driver-cases.ts';
import { play, type Played } from './play.ts';
import type { SystemName } from './systems.ts';
import { toolkit } from './toolkit-cases.ts';
import { aptIsHere, AptWorld } from './world.ts';

const subjects: Readonly<Record<string, Subject>> = {
  docker,
  driver,
  'own-driver': ownDriver,
  kernels,
  libraries,
  toolkit,
};
const tables = join(import.meta.dirname, '../../fixtures/apt/tables');

/**
 * Registers tests that run every plan for hosts of one system through apt's own resolver, with real package lists. The results are
 * compared with test/fixtures/apt/tables; `vitest -u` writes them again: read the difference.
 */
export function resolverTests(on: SystemName): void {
  const cases = Object.entries(subjects).flatMap(([subject, { cases: of, steps }]) =>
    of(on).map((one) => [`${subject}, ${one.history}: ${one.what}`, { subject, steps, one }] as const),
  );

  describe(`apt's resolver on ${on}`, () => {
    it.each(aptIsHere() ? cases : [])('%s', async (title, { subject, steps, one }) => {
      const world = new AptWorld(on, one.past);
      try {
        const desired = desiredOf(one.desired);
        const first = await play(world, steps, await world.facts(one.facts), desired);
        const second = await play(world, steps, first.facts, desired);
        await expect(textOf(`${on}: ${title}`, one, first, second)).toMatchFileSnapshot(
          join(tables, slug(on), `${subject}-${slug(`${one.history} ${one.what}`)}.txt`),
        );
      } finally {
        world.remove();
      }
    });

    it('meets hosts of every history', () => {
      const histories = [
        'conflicting',
        'current',
        'desktop',
        'display card',
        'fresh',
        'half-installed',
        'held',
        'kernel upgraded',
        'newer',
        'older',
      ];
      expect([...new Set(cases.map(([, { one }]) => one.history))].toSorted()).toEqual(histories);
    });
  });
}

function textOf(
  title: string,
  { past, facts, desired }: ResolverCase,
  first: Played,
  second: Played,
): string {
  const given = Object.entries({ past, facts, desired }).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}: ${JSON.stringify(value)}`],
  );
  return [`# ${title}`, ...given, '', ...described(first), '', 'and again', ...described(second), ''].join(
    '\n',
  );
}

function described({ plan, asked, failed }: Played): string[] {
  return [
    ...(plan.length === 0 ? ['nothing to do'] : plan),
    ...asked.map((words) => `apt-get ${words}`),
    ...(failed === undefined ? [] : [`FAILED ${failed}`]),
  ];
}

function slug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}
