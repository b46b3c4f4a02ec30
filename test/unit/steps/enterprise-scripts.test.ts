import { join } from 'node:path';
import { expect, it } from 'vitest';

import type { Facts } from '../../../src/facts/facts.ts';
import { consequenceFilters } from '../../../src/packages/dnf/consequences.ts';
import { bringFunctions, performFunction } from '../../../src/packages/dnf/downloads.ts';
import { dnfPrelude } from '../../../src/packages/dnf/prelude.ts';
import { unforeseenNames } from '../../../src/packages/shell.ts';
import type { Answers } from '../../../src/packages/simulation.ts';
import { planHost, questionFor, type PlanOptions } from '../../../src/plan/plan.ts';
import type { Change } from '../../../src/steps/change.ts';
import { dockerStep } from '../../../src/steps/docker.ts';
import { driverStep } from '../../../src/steps/driver.ts';
import { toolkitStep } from '../../../src/steps/toolkit.ts';
import { scriptsCases, type ScriptsCase } from './enterprise-scripts-cases.ts';
import { simulate } from './simulate.ts';

const allSteps = [driverStep, dockerStep, toolkitStep];
const fixtures = join(import.meta.dirname, '../../fixtures/dnf/scripts');
/** Each script has them, and they have tests of their own. */
const parts = [
  [dnfPrelude, '# … what all scripts for dnf begin with'],
  [consequenceFilters, '# … how what dnf says is read'],
  [bringFunctions, '# … bring, more_packages'],
  [performFunction, '# … perform'],
  [unforeseenNames, '# … unforeseen PATTERN…'],
] as const;

// Facts in, scripts out, to the letter: `vitest -u` writes them anew, for somebody to read.
it.each(scriptsCases.map((each) => [each.what, each] as const))('%s', async (what, one) => {
  const { text, after } = run(one);
  const second = run({ ...one, facts: after });
  const shown = one.like === undefined ? text : beyond(text, run(one.like).text);
  await expect([`# ${what}`, shown, '# and again', second.text, ''].join('\n')).toMatchFileSnapshot(
    join(fixtures, `${slug(what)}.txt`),
  );
});

function beyond(text: string, other: string): string {
  const known = new Set(other.split('\n'));
  return ['# like Rocky Linux 9, but for', ...text.split('\n').filter((line) => !known.has(line))].join('\n');
}

function run(one: ScriptsCase): { readonly text: string; readonly after: Facts } {
  const { facts, wish, steps = allSteps } = one;
  const options = { steps, disturbOthers: true };
  const answers = answersOf(one, options);
  const { stages, refusals } = planHost(facts, wish, options, { answers, final: true });
  const changes = stages.flat().filter((change): change is Change => change.known);
  const text = [
    ...refusals.map((refused) => `refused: ${refused.what}; ${refused.next}`),
    ...changes.flatMap(told),
  ];
  return {
    text: text.length === 0 ? 'nothing to do' : text.join('\n\n'),
    after:
      refusals.length > 0 ? facts : changes.reduce((seen, change) => simulate(seen, change, wish), facts),
  };
}

/** What dnf has said of the changes that a case knows the words of. */
function answersOf({ facts, wish, said = {} }: ScriptsCase, options: PlanOptions): Answers {
  const question = questionFor(facts, wish, options, {});
  const keys = [...(question?.script ?? '').matchAll(/^begin (\S+)$/gm)].map(([, key = '']) => key);
  const words = keys.flatMap((key) => {
    const lines = Object.entries(said).find(([name]) => key.startsWith(`${name}-`))?.[1];
    return lines === undefined ? [] : [`begin ${key}`, ...lines, 'end'];
  });
  return question?.read(words.join('\n')) ?? {};
}

function told({ title, disturbs, details = [], actions }: Change): string[] {
  const signs = { add: '+', change: '~', remove: '-' } as const;
  const scripts = actions.map((action) =>
    action.kind === 'run' ? shortened(action.script) : `(${action.kind})`,
  );
  return [
    [`## ${title} [${disturbs}]`, ...details.map(({ marker, text }) => `${signs[marker]} ${text}`)].join(
      '\n',
    ),
    ...scripts,
  ];
}

function shortened(script: string): string {
  return parts.reduce((text, [part, name]) => text.replace(part, () => name), script);
}

function slug(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9.]+/g, '-');
}
