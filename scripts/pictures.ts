// Records docs/wizard.svg and docs/demo.svg on a real terminal of 80 columns: `npm run pictures -- wizard demo`. The demo
// is a whole `npm run demo -- --fresh`. test/unit/cli/pictures.test.ts draws plan.svg and status.svg, and checks all four.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { headings } from '../practice/demo/run-demo.ts';
import { withSharedLock } from '../practice/lab/machine.ts';
import { repository } from '../practice/lab/paths.ts';
import { Terminal } from '../practice/lab/terminal.ts';
import { give, makeDesk, path, steady } from '../test/support/wizard-desk.ts';
import { picture } from './terminal-picture.ts';

/** Returns the wizard up to its question about agents, with the list of answers open. */
async function wizard(): Promise<string> {
  const desk = await makeDesk();
  const terminal = desk.start('setup');
  try {
    for (const [question, ...keys] of path) {
      await terminal.see(`? ${question}`);
      if (question === 'Agents on each host') break;
      give(desk, terminal, keys);
    }
    return steady(terminal.history('styled'));
  } finally {
    terminal.close();
    await desk.end();
  }
}

/** Runs the demo while no lab test runs, and returns it from the fleet's status to its end, without how long it took. */
function demo(): Promise<string> {
  return withSharedLock('lab-run', wholeDemo);
}

async function wholeDemo(): Promise<string> {
  const terminal = new Terminal('npm run demo -- --fresh', { cwd: repository });
  try {
    await terminal.see('[exit 0]', 3_600_000);
    const lines = terminal.history('styled').split('\n');
    const at = (text: string) => lines.findIndex((line) => line.includes(text));
    return lines.slice(at(headings.status), at('done in')).join('\n');
  } finally {
    terminal.close();
  }
}

const recordings = { wizard: ['azp-fleet setup', wizard], demo: ['npm run demo', demo] } as const;

for (const name of process.argv.slice(2)) {
  const recording = Object.entries(recordings).find(([known]) => known === name);
  if (recording === undefined) throw new Error(`${name}: one of ${Object.keys(recordings).join(', ')}`);
  const [title, record] = recording[1];
  writeFileSync(join(repository, 'docs', `${name}.svg`), picture(title, await record()));
}
