import { existsSync } from 'node:fs';
import path from 'node:path';

import { FleetError } from '../../../shared/base/errors.ts';
import type { Wizard } from '../wizard-context.ts';
import { writeInventory } from './write.ts';

type Decision = 'write' | 'other' | 'stop';

/** Shows the inventory and writes it where the user wants. Undefined when the user wants it nowhere. */
export async function askToWrite(
  wizard: Wizard,
  textFor: (file: string) => string,
  preset: string,
): Promise<string | undefined> {
  const { context, prompts, say } = wizard;
  const shown = textFor(preset).trimEnd().split('\n');
  say('', ...shown.map((line) => `  ${line}`), '');
  let file = preset;
  for (;;) {
    const full = path.resolve(context.cwd, file);
    const exists = existsSync(full);
    const decision = exists
      ? await prompts.choose<Decision>('replace', `${file} exists:`, [
          { name: 'Replace it; the old one is kept beside it', value: 'write' },
          { name: 'Write to another file', value: 'other' },
          { name: 'Write nothing', value: 'stop' },
        ])
      : await prompts.choose<Decision>(
          'write',
          `Write it to ${file}?`,
          [
            { name: 'Yes', value: 'write' },
            { name: 'To another file', value: 'other' },
            { name: 'No', value: 'stop' },
          ],
          'write',
        );
    if (decision === 'stop') return undefined;
    if (decision === 'other') {
      file = await prompts.text('file', 'File:', { default: file, check: checkFile });
      if (existsSync(path.resolve(context.cwd, file))) continue;
    }
    const kept = tryWrite(
      wizard,
      path.resolve(context.cwd, file),
      textFor(file),
      decision === 'write' && exists,
    );
    if (kept === 'failed') continue;
    say(`✔ ${file} written${kept === undefined ? '' : `; the old one is ${path.basename(kept)}`}`);
    return file;
  }
}

function tryWrite(
  { say, prompts }: Wizard,
  file: string,
  text: string,
  replace: boolean,
): string | undefined {
  try {
    return writeInventory(file, text, { replace });
  } catch (error) {
    if (!(error instanceof FleetError) || !prompts.canAsk) throw error;
    say(`✗ ${error.problem.what}${error.problem.seen === undefined ? '' : `: ${error.problem.seen}`}`);
    return 'failed';
  }
}

function checkFile(text: string): string | undefined {
  return /\.ya?ml$/.test(text) ? undefined : 'A name that ends in .yaml';
}
