import { join } from 'node:path';
import { figure } from './floor.ts';
import { type Extent, timed, walls } from './measure.ts';
import { recordResults, table } from './results.ts';
import { spread } from './statistics.ts';

const dev = join(import.meta.dirname, '../scripts/dev.mjs');

/** `npm run bench -- whole [demo|test]`: the demo from nothing, and `npm test`. It removes the demo's machines. */
export async function run(args: readonly string[], { rounds = 1 }: Extent): Promise<void> {
  const tasks = { demo: ['demo', '--fresh'], test: ['test'] } as const;
  for (const name of ['demo', 'test'] as const) {
    if (args.length > 0 && !args.includes(name)) continue;
    const taken = [];
    for (let round = 0; round < rounds; round += 1)
      taken.push(await timed({ command: [process.execPath, dev, ...tasks[name]] }));
    const failure = taken.find((each) => each.failure !== undefined)?.failure;
    if (failure !== undefined) throw new Error(`${name}: ${failure}`);
    const { median, least, most } = spread(walls(taken));
    const cells = [median, least, most].map((value) => figure(value, 's'));
    recordResults(
      `whole ${name}`,
      `npm run ${tasks[name].join(' ')}`,
      table(['median', 'least', 'most'], [cells]),
      {
        part: 'whole',
        rows: { [`whole.${name}-s`]: walls(taken) },
      },
    );
  }
}
