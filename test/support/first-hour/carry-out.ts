import { strict as assert } from 'node:assert';

import { editFor } from './edits.ts';
import type { Helper } from './mistake.ts';
import type { Told } from './told.ts';
import type { World } from './world.ts';

/** Does literally what the text says, and tells what that was, but for another command. Throws where it says nothing to do. */
export async function carryOut(world: World, told: Told, by: Helper | undefined): Promise<string> {
  const asked = by?.asked.exec(told.next);
  if (by !== undefined && asked) {
    await by.carry(world, asked);
    return `${by.who}: ${by.does}`;
  }
  const command = commandIn(told.next);
  if (command !== undefined) return run(world, command);
  const edit = editFor(told);
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
  throw new Error(`nothing that can be carried out: ${JSON.stringify(told)}`);
}

/** The first line that is another one, as it is now. */
function difference(before: string, after: string): string {
  const old = before.split('\n');
  const lines = after.split('\n');
  const at = lines.findIndex((line, index) => line !== old[index]);
  return `line ${at + 1} is now "${lines[at] ?? ''}"`;
}

const program =
  /(?:^|: |then |\()(?=(?:azp-fleet|chmod|ssh-keygen|ssh-add|ssh-copy-id|echo|usermod|read|\(umask) )/;

interface Command {
  readonly text: string;
  readonly where: 'here' | 'host';
}

/** The command in a text: all of it, or what follows a colon, up to a comment. */
function commandIn(next: string): Command | undefined {
  const at = program.exec(next);
  if (at === null) return undefined;
  const [text = '', comment = ''] = next.slice(at.index + at[0].length).split(/\s+# /);
  return { text: text.trim(), where: comment.includes('on the host') ? 'host' : 'here' };
}

async function run(world: World, { text, where }: Command): Promise<string> {
  if (where === 'host') {
    const { code, text: said } = await world.host.typed(text);
    assert.equal(code, 0, said);
    return `on the host $ ${text}`;
  }
  const [, ours] = /^azp-fleet (.*)$/.exec(text) ?? [];
  if (ours !== undefined && ours.split(' ')[0] === world.typed.split(' ')[0]) {
    world.typed = ours;
    return '';
  }
  if (text.startsWith('azp-fleet ')) {
    const { exitCode, text: said } = await world.type(text.slice('azp-fleet '.length), [['?', 'y']]);
    assert.equal(exitCode, 0, `${text}\n${said}`);
  } else {
    const { code, text: said } = await world.shell(text);
    assert.equal(code, 0, `${text}\n${said}`);
  }
  return `$ ${text}`;
}
