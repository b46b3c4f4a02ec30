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

/** A host whose scripts a fixture holds in full. */
export interface ScriptsCase {
  readonly what: string;
  readonly facts: Facts;
  readonly desired: Desired;
  /** Lines of the package simulation by prefix of the change's id. */
  readonly said?: Readonly<Record<string, readonly string[]>>;
  /** By default the three steps with packages. */
  readonly steps?: readonly Step[];
  /** A case to compare with: the fixture holds only lines that this one lacks. */
  readonly like?: ScriptsCase;
}

/** Text that many scripts contain, with its replacement. Other tests cover these parts. */
export type Parts = readonly (readonly [part: string, words: string])[];

const allSteps = [driverStep, dockerStep, toolkitStep];

/** Returns the changes and scripts of a run and of the run after it. */
export function exactScripts(one: ScriptsCase, parts: Parts): string {
  const { text, after } = run(one, parts);
  const second = run({ ...one, facts: after }, parts);
  const shown = one.like === undefined ? text : beyond(one.like.what, text, run(one.like, parts).text);
  return [`# ${one.what}`, shown, '# and again', second.text, ''].join('\n');
}

/** Returns the name of the case's fixture. */
export function fileOf({ what }: Pick<ScriptsCase, 'what'>): string {
  return `${what.toLowerCase().replaceAll(/[^a-z0-9.]+/g, '-')}.txt`;
}

/** Returns the lines of a text that the other named text lacks. */
export function beyond(name: string, text: string, other: string): string {
  const known = new Set(other.split('\n'));
  return [`# like ${name}, but for`, ...text.split('\n').filter((line) => !known.has(line))].join('\n');
}

function run(one: ScriptsCase, parts: Parts): { readonly text: string; readonly after: Facts } {
  const { facts, desired, steps = allSteps } = one;
  const options = { steps, disturbOthers: true };
  const answers = answersOf(one, options);
  const { stages, refusals } = planHost(facts, desired, options, { answers, final: true });
  const changes = stages.flat().filter((change): change is Change => change.kind === 'change');
  const text = [
    ...refusals.map((refused) => `refused: ${refused.what}; ${refused.next}`),
    ...changes.flatMap((change) => changeText(change, parts)),
  ];
  return {
    text: text.length === 0 ? 'nothing to do' : text.join('\n\n'),
    after:
      refusals.length > 0 ? facts : changes.reduce((seen, change) => simulate(seen, change, desired), facts),
  };
}

/** Returns the simulation's answers that the case defines. */
function answersOf({ facts, desired, said = {} }: ScriptsCase, options: PlanOptions): Answers {
  const question = questionFor(facts, desired, options, {});
  const keys = [...(question?.script ?? '').matchAll(/^begin (\S+)$/gm)].map(([, key = '']) => key);
  const words = keys.flatMap((key) => {
    const lines = Object.entries(said).find(([name]) => key.startsWith(`${name}-`))?.[1];
    return lines === undefined ? [] : [`begin ${key}`, ...lines, 'end'];
  });
  return question?.read(words.join('\n')) ?? {};
}

function changeText({ title, disturbs, details = [], actions }: Change, parts: Parts): string[] {
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

/** Replaces the parts in a script, also inside another script's quotes. */
export function shortened(script: string, parts: Parts): string {
  return parts.reduce(
    (text, [part, name]) => text.replace(part, () => name).replaceAll(quote(part).slice(1, -1), () => name),
    script,
  );
}
