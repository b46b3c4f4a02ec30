import { existsSync } from 'node:fs';
import { relative } from 'node:path';

import { repository } from '../lab/paths.ts';
import { azpFleet } from './cli.ts';
import { inventory, machines, pool, startFleet } from './fleet.ts';
import { allGone, allWell, jobTable, runJobs } from './jobs.ts';
import { heading, line, reportSteps } from './progress.ts';
import { nextText } from './text.ts';

const jobCount = 8;
const file = relative(repository, inventory);

/** The whole demo. Returns 0 only when everything it promises has been seen. */
export async function runDemo({ fresh }: { readonly fresh: boolean }): Promise<number> {
  const began = Date.now();
  reportSteps();

  heading('1 · three machines, and an Azure DevOps to practise with');
  if (existsSync(inventory) && !fresh)
    line('  going on with the machines of the last time (--fresh: start over)');
  const { lab, azure } = await startFleet(fresh);
  for (const machine of machines) {
    line(`  ${machine.name.padEnd(8)} ${lab.host(machine.name).address.padEnd(13)} ${machine.about}`);
  }
  line(`  ${'azure'.padEnd(8)} ${azure.organization}`);

  heading('2 · from bare machines to agents, in one command');
  const provision = await azpFleet(['provision', file, '--yes']);
  if (provision.code !== 0) return failed('the machines could not be provisioned', provision.code);

  heading('3 · how is the fleet?');
  const status = await azpFleet(['status', file]);
  if (status.code !== 0) return failed('the fleet is not healthy', status.code);

  heading(`4 · ${jobCount} jobs, each in a container of its own`);
  const runs = await runJobs(azure.control, pool, jobCount);
  line(jobTable(runs));
  if (!allWell(runs)) return failed('not every job succeeded in a fresh container', 1);
  if (!(await allGone(lab.hosts, runs))) return failed('a container outlived its job', 1);
  line(`\n${runs.length} jobs in ${runs.length} different containers; not one of them exists any more.`);

  heading('5 · the same command again');
  const again = await azpFleet(['provision', file, '--yes'], { capture: true });
  if (again.code !== 0 || !again.output.includes('no changes')) {
    return failed('the second run changed something', again.code);
  }

  heading(`done in ${duration(Date.now() - began)}`);
  const [first] = lab.hosts;
  process.stdout.write(
    nextText(`ssh -i demo-fleet/id_ed25519 ${first?.user ?? 'root'}@${first?.address ?? ''}`).slice(1),
  );
  return 0;
}

function failed(what: string, code: number): number {
  process.stderr.write(`\n✗ ${what}. The machines are left as they are, to be looked at.\n`);
  process.stderr.write('  Next: read the lines above; npm run demo -- --fresh starts over\n');
  return code === 0 ? 1 : code;
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
