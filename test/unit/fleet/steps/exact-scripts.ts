import { quote } from '../../../../src/shared/base/shell.ts';
import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { Answers } from '../../../../src/fleet/packages/simulation.ts';
import { planHost, type PlanOptions, questionFor } from '../../../../src/fleet/plan/plan.ts';
import type { Change } from '../../../../src/fleet/steps/change.ts';
import { dockerStep } from '../../../../src/fleet/steps/docker/step.ts';
import { driverStep } from '../../../../src/fleet/steps/driver/step.ts';
import type { Desired, Step } from '../../../../src/fleet/steps/step.ts';
import { toolkitStep } from '../../../../src/fleet/steps/toolkit/step.ts';
import { simulate } from './simulate.ts';

/** A host whose scripts are looked at to the letter. */
export interface ScriptsCase {
  readonly what: string;
  readonly facts: Facts;
  readonly wish: Desired;
  /** What the package manager says that a change would do, in the words of the simulation, by what the change's name begins with. */
  readonly said?: Readonly<Record<string, readonly string[]>>;
  /** By default all that concern packages. */
  readonly steps?: readonly Step[];
  /** Its scripts are told by the lines that this one's do not have. */
  readonly like?: ScriptsCase;
}

/** What many scripts have, and the words for it: such parts have tests of their own. */
export type Parts = readonly (readonly [part: string, words: string])[];

const allSteps = [driverStep, dockerStep, toolkitStep];

/** The changes of a run and of the one after it, with the scripts that would run. */
export function exactScripts(one: ScriptsCase, parts: Parts): string {
  const { text, after } = run(one, parts);
  const second = run({ ...one, facts: after }, parts);
  const shown = one.like === undefined ? text : beyond(one.like.what, text, run(one.like, parts).text);
  return [`# ${one.what}`, shown, '# and again', second.text, ''].join('\n');
}

/** What a case's file is called. */
export function fileOf({ what }: Pick<ScriptsCase, 'what'>): string {
  return `${what.toLowerCase().replaceAll(/[^a-z0-9.]+/g, '-')}.txt`;
}

/** The lines of a text that another one, whose name it is, does not have. */
export function beyond(name: string, text: string, other: string): string {
  const known = new Set(other.split('\n'));
  return [`# like ${name}, but for`, ...text.split('\n').filter((line) => !known.has(line))].join('\n');
}

function run(one: ScriptsCase, parts: Parts): { readonly text: string; readonly after: Facts } {
  const { facts, wish, steps = allSteps } = one;
  const options = { steps, disturbOthers: true };
  const answers = answersOf(one, options);
  const { stages, refusals } = planHost(facts, wish, options, { answers, final: true });
  const changes = stages.flat().filter((change): change is Change => change.known);
  const text = [
    ...refusals.map((refused) => `refused: ${refused.what}; ${refused.next}`),
    ...changes.flatMap((change) => told(change, parts)),
  ];
  return {
    text: text.length === 0 ? 'nothing to do' : text.join('\n\n'),
    after:
      refusals.length > 0 ? facts : changes.reduce((seen, change) => simulate(seen, change, wish), facts),
  };
}

/** What the package manager has said of the changes that a case knows the words of. */
function answersOf({ facts, wish, said = {} }: ScriptsCase, options: PlanOptions): Answers {
  const question = questionFor(facts, wish, options, {});
  const keys = [...(question?.script ?? '').matchAll(/^begin (\S+)$/gm)].map(([, key = '']) => key);
  const words = keys.flatMap((key) => {
    const lines = Object.entries(said).find(([name]) => key.startsWith(`${name}-`))?.[1];
    return lines === undefined ? [] : [`begin ${key}`, ...lines, 'end'];
  });
  return question?.read(words.join('\n')) ?? {};
}

function told({ title, disturbs, details = [], actions }: Change, parts: Parts): string[] {
  const signs = { add: '+', change: '~', remove: '-' } as const;
  const scripts = actions.map((action) =>
    action.kind === 'run' ? shortened(action.script, parts) : `(${action.kind})`,
  );
  return [
    [`## ${title} [${disturbs}]`, ...details.map(({ marker, text }) => `${signs[marker]} ${text}`)].join(
      '\n',
    ),
    ...scripts,
  ];
}

/** A script for people to read, without these parts, also where they stand in another script's quotes. */
export function shortened(script: string, parts: Parts): string {
  return parts.reduce(
    (text, [part, name]) => text.replace(part, () => name).replaceAll(quote(part).slice(1, -1), () => name),
    script,
  );
}
