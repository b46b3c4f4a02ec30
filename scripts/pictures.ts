// Records docs/wizard.svg and docs/demo.svg on a real terminal of 80 columns: `npm run pictures -- wizard demo`. The demo
// is a whole `npm run demo -- --fresh`. test/unit/cli/pictures.test.ts draws plan.svg and status.svg, and checks all four.
// `npm run pictures -- status-page` takes docs/status-page.png from Debian's Chromium in the lab.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { headings } from '../practice/demo/run-demo.ts';
import { ensureEngine } from '../practice/lab/engine.ts';
import { withSharedLock } from '../practice/lab/machine.ts';
import { repository } from '../practice/lab/paths.ts';
import { Terminal } from '../practice/lab/terminal.ts';
import oneRunAtATime from '../practice/lab/test-run.ts';
import { statusPage } from '../src/cli/render/status-page.ts';
import { Chromium } from '../test/lab/support/chromium.ts';
import { give, makeDesk, path, steady } from '../test/support/wizard-desk.ts';
import { answerOf, busy, hot } from '../test/unit/cli/watch/fleet.ts';
import { now } from '../test/unit/fleet/status/observation.ts';
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
    await terminal.see('[exit 0]');
    const lines = terminal.history('styled').split('\n');
    const at = (text: string) => lines.findIndex((line) => line.includes(text));
    return lines.slice(at(headings.status), at('done in')).join('\n');
  } finally {
    terminal.close();
  }
}

/** Returns the page of `status --html` of two hosts: one has a failed GPU, and the other runs two jobs. */
function page(): string {
  const day = (phase: number) =>
    Array.from({ length: 96 }, (_, n) => (n < 12 ? undefined : 50 + 45 * Math.sin((n + phase) / 7)));
  const series = new Map([
    ['GPU-1', day(0)],
    ['GPU-2', day(20)],
  ]);
  const history = { value: { series, omitted: 0 } };
  const jobs = [busy('0', 'train resnet50'), busy('1', 'evaluate')];
  return statusPage(
    [
      { ...answerOf('h200-1', { slots: jobs }), history },
      { ...answerOf('h200-2', { health: hot }), history },
    ],
    {
      queues: [{ pool: 'gpu-lab', jobs: { waiting: 3, running: 2, oldestWaitS: 740 } }],
      jobs: undefined,
      problems: [],
      now,
    },
  );
}

/** Opens the page in a browser while no lab test runs, and returns what it shows, as PNG. */
async function browserPicture(): Promise<Buffer> {
  const end = await oneRunAtATime();
  try {
    await ensureEngine();
    const chromium = await Chromium.start('picture');
    try {
      const opened = await chromium.open(page(), { width: 900, height: 600, scheme: 'light' });
      return await opened.picture();
    } finally {
      await chromium.remove();
    }
  } finally {
    await end();
  }
}

/** Files in docs, by name. */
const recordings = {
  wizard: ['wizard.svg', async () => picture('azp-fleet setup', await wizard())],
  demo: ['demo.svg', async () => picture('npm run demo', await demo())],
  'status-page': ['status-page.png', browserPicture],
} as const;

for (const name of process.argv.slice(2)) {
  const recording = Object.entries(recordings).find(([known]) => known === name);
  if (recording === undefined) throw new Error(`${name}: one of ${Object.keys(recordings).join(', ')}`);
  const [file, record] = recording[1];
  writeFileSync(join(repository, 'docs', file), await record());
}
