import type { Problem } from '../../shared/base/errors.ts';

type Mistake = Pick<Problem, 'what' | 'expected' | 'seen' | 'next'>;

const example = 'ARG BASE\nFROM ${BASE}\nUSER root\nRUN …';

/**
 * Returns why a team's Dockerfile cannot be built on top of the agent image; undefined: it can. Its last stage must begin with
 * that image, which it gets as BASE. Pure.
 */
export function dockerfileMistake(text: string): Mistake | undefined {
  const instructions = instructionsOf(text);
  const first = instructions.findIndex(({ name }) => name === 'FROM');
  if (first === -1) return mistake('it has no FROM', text.trim() === '' ? 'nothing' : undefined);
  const before = instructions.slice(0, first);
  if (!before.some(({ name, rest }) => name === 'ARG' && /^BASE(=|\s|$)/.test(rest)))
    return mistake('it does not take the image to build on', 'no ARG BASE before the first FROM');
  const stages = instructions.filter(({ name }) => name === 'FROM').map(({ rest }) => stageOf(rest));
  const last = stages.at(-1);
  if (last === undefined || startsWithBase(last, stages)) return undefined;
  return mistake('its image is not built on the agent image', `FROM ${last.image}`);
}

function mistake(what: string, seen: string | undefined): Mistake {
  return {
    what,
    expected: example,
    ...(seen === undefined ? {} : { seen }),
    next: 'begin its last stage with FROM ${BASE}, and write ARG BASE above the first FROM',
  };
}

interface Stage {
  readonly image: string;
  readonly name: string | undefined;
}

function stageOf(rest: string): Stage {
  const [image = '', as, name] = rest.split(/\s+/).filter((word) => !word.startsWith('--'));
  return { image, name: as?.toUpperCase() === 'AS' ? name?.toLowerCase() : undefined };
}

/** Tells whether a stage builds on BASE, directly or by an earlier stage's name. */
function startsWithBase({ image }: Stage, stages: readonly Stage[]): boolean {
  if (/^\$(BASE|\{BASE(:-[^}]*)?\})$/.test(image)) return true;
  const at = stages.findIndex(({ name }) => name === image.toLowerCase());
  const below = stages[at];
  return below !== undefined && startsWithBase(below, stages.slice(0, at));
}

interface Instruction {
  readonly name: string;
  readonly rest: string;
}

/** Returns the instructions without comments and with continued lines joined, as Docker reads them. */
function instructionsOf(text: string): Instruction[] {
  const escape = /^\s*#\s*escape\s*=\s*`/im.test(text) ? '`' : '\\';
  const lines = text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .filter((line) => !/^\s*#/.test(line) && line.trim() !== '');
  const joined = lines.reduce((whole, line) => {
    const continues = line.trimEnd().endsWith(escape);
    return `${whole}${continues ? `${line.trimEnd().slice(0, -1)} ` : `${line}\n`}`;
  }, '');
  return joined.split('\n').flatMap((line) => {
    const [, name, rest] = /^\s*([A-Za-z]+)\s+(.*?)\s*$/.exec(line) ?? [];
    return name === undefined || rest === undefined ? [] : [{ name: name.toUpperCase(), rest }];
  });
}
