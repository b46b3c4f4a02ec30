import { strict as assert } from 'node:assert';

import { editFor } from './edits.ts';
import type { Helper } from './mistake.ts';
import type { Reported } from './reported.ts';
import type { World } from './world.ts';

/** Carries out the text literally and returns what it did. Throws for a text without an action. */
export async function carryOut(world: World, reported: Reported, by: Helper | undefined): Promise<string> {
  const asked = by?.asked.exec(reported.next);
  if (by !== undefined && asked) {
    await by.carry(world, asked);
    return `${by.who}: ${by.does}`;
  }
  const command = commandIn(reported);
  if (command !== undefined) return run(world, command);
  const edit = editFor(reported);
  if (edit !== undefined) {
    const { file, change } = edit;
    if (file === undefined) {
      world.typed = change(world.typed);
      return '';
    }
    const old = world.read(file);
    world.write(file, change(old));
    return `${file}: ${difference(old, world.read(file))}`;
  }
  throw new Error(`nothing that can be carried out: ${JSON.stringify(reported)}`);
}

/** Returns the first changed line. */
function difference(before: string, after: string): string {
  const old = before.split('\n');
  const lines = after.split('\n');
  const at = lines.findIndex((line, index) => line !== old[index]);
  return `line ${at + 1} is now "${lines[at] ?? ''}"`;
}

const program =
  /(?:^|: |:\n|then |\n)(?=(?:azp-fleet|chmod|ssh-keygen|ssh-add|ssh-copy-id|echo|usermod|read|\(umask) )/;

interface Command {
  /** The text as copied from the screen. */
  readonly copied: string;
  /** On one line. */
  readonly text: string;
  readonly where: 'here' | 'host';
}

/** Returns the command in a text: all of it, or the part after a colon, with its comment. */
function commandIn({ lines, next }: Reported): Command | undefined {
  const at = program.exec(lines);
  if (at === null) return undefined;
  const copied = lines.slice(at.index + at[0].length);
  const text = copied.replaceAll(' \\\n', ' ').split(/\s+# /)[0] ?? '';
  return { copied, text: text.trim(), where: next.includes('on the host') ? 'host' : 'here' };
}

async function run(world: World, { copied, text, where }: Command): Promise<string> {
  if (where === 'host') {
    const { code, text: said } = await world.host.typed(copied);
    assert.equal(code, 0, said);
    return `on the host $ ${text}`;
  }
  const [, ours] = /^azp-fleet (.*)$/.exec(text) ?? [];
  if (ours !== undefined && ours.split(' ')[0] === world.typed.split(' ')[0]) {
    world.typed = ours;
    return '';
  }
  const { code, text: said } = ours === undefined ? await world.shell(copied) : await typed(world, ours);
  assert.equal(code, 0, `${copied}\n${said}`);
  return `$ ${text}`;
}

/** The user answers yes. */
async function typed(world: World, ours: string) {
  const { exitCode, text } = await world.type(ours, [['?', 'y']]);
  return { code: exitCode, text };
}
