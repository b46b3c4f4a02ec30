import { refillGaps, results } from './figures.ts';
import { deedsDone } from './hostile.ts';
import { containerOf } from './invariants.ts';
import type { Soak } from './soak.ts';

const seconds = (ms: number): string => (ms / 1000).toFixed(1);

/** The figures of a soak as Markdown. Pure. */
export function report({ record, violations, attempts, slots, from, to }: Soak): string {
  const { jobs, faults } = record;
  const gaps = refillGaps(record);
  const outcomes = [...results(jobs)].map(([result, count]) => `${count} ${result}`).join(', ');
  const containers = new Set(jobs.map(containerOf).filter((id) => id !== undefined));
  return [
    '| figure | value |',
    '|---|---|',
    `| jobs | ${jobs.length} (${outcomes}) in ${containers.size} containers |`,
    `| slots | ${slots} |`,
    `| duration | ${seconds(to - from)} s, ${(jobs.length / ((to - from) / 60_000)).toFixed(1)} jobs a minute |`,
    `| from a job's end to the next job on the same slot | p50 ${seconds(gaps.p50)} s, p95 ${seconds(gaps.p95)} s, max ${seconds(gaps.max)} s (${gaps.count} times, faults apart) |`,
    `| sessions refused because the name had another | ${record.sessionConflicts} |`,
    `| jobs that meant harm | ${harm(jobs)} |`,
    `| tries with copied keys of ended jobs, successful | ${attempts}, ${record.loot.length} |`,
    `| attacks beside them | ${[...record.attacks].map(([name, times]) => `${times} × ${name}`).join(', ')} |`,
    `| most memory of a manager | ${Math.max(0, ...record.memoryMiB.values())} MiB |`,
    `| violations | ${violations.length} |`,
    '',
    '| fault | lasted s | all slots back after s | at most s |',
    '|---|---|---|---|',
    ...faults.map(
      (fault) =>
        `| ${fault.name} | ${seconds(fault.over - fault.from)} | ${seconds(fault.recovered - fault.over)} | ${seconds(fault.boundMs)} |`,
    ),
    ...violations.map((each) => `\n- broken: ${each}`),
  ].join('\n');
}

function harm(jobs: Soak['record']['jobs']): string {
  return [...deedsDone(jobs)].map(([deed, times]) => `${times} × ${deed}`).join(', ');
}
