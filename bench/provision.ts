import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

import { azpFleet, cpus, type Extent, type Taken, timedNode, walls } from './measure.ts';
import { recordResults, table } from './results.ts';
import type { Place } from './scripted-hosts.ts';
import { spread } from './statistics.ts';

const hosts = 300;

/**
 * `npm run bench -- provision`: the shipped CLI makes 300 hosts that are models behind real SSH servers in a process beside it: a new
 * fleet, then in waves a change that drains each host, then nothing to do.
 */
export async function run(_args: readonly string[], { rounds = 1 }: Extent): Promise<void> {
  const taken = { new: [] as Taken[], waves: [] as Taken[], nothing: [] as Taken[] };
  for (let round = 0; round < rounds; round += 1) {
    const child = fork(join(import.meta.dirname, 'scripted-hosts.ts'), [String(hosts)]);
    try {
      const [place] = (await once(child, 'message')) as [Place];
      taken.new.push(await provision(place));
      child.send('lose');
      await once(child, 'message');
      taken.waves.push(await provision(place));
      taken.nothing.push(await provision(place));
    } finally {
      child.disconnect();
      await once(child, 'exit');
    }
  }
  record(taken);
}

async function provision({ folder, inventory, env }: Place): Promise<Taken> {
  const program = azpFleet(['provision', '-i', inventory, '--yes'], { env, cwd: folder });
  const taken = await timedNode(program);
  if (taken.failure !== undefined) throw new Error(taken.failure);
  process.stderr.write(`${taken.wallS.toFixed(2)} s, ${taken.cpuS.toFixed(2)} s of CPU\n`);
  return taken;
}

function record(taken: Readonly<Record<'new' | 'waves' | 'nothing', readonly Taken[]>>): void {
  const peaks = (of: readonly Taken[]) => of.flatMap(({ usage }) => usage?.peakMB ?? []);
  const titles = {
    new: 'a new fleet: the manager on each host',
    waves: "dockerd's configuration in waves of 10 %, drained and proven",
    nothing: 'again: nothing to do',
  };
  const lines = (['new', 'waves', 'nothing'] as const).map((name) => {
    const of = taken[name];
    const middle = (values: readonly number[], digits: number) => spread(values).median.toFixed(digits);
    return [titles[name], middle(walls(of), 2), middle(cpus(of), 2), middle(peaks(of), 0)];
  });
  recordResults(
    'provision',
    `${hosts} scripted hosts: SSH servers in one process, whose answers follow what was changed`,
    table(['`provision`', 'wall s', 'client CPU s', 'peak MB'], lines),
    {
      rows: {
        'provision.new-300-s': walls(taken.new),
        'provision.waves-300-s': walls(taken.waves),
        'provision.waves-300-cpu-s': cpus(taken.waves),
        'provision.waves-300-memory': peaks(taken.waves),
      },
    },
  );
}
