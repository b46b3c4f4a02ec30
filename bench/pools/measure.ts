import { recordResults } from '../results.ts';
import { askedBy, paceOf, type Pace } from './calls.ts';
import { slots } from './client.ts';
import { bundle, memoryOf } from './memory.ts';
import { readerBounds } from '../../src/shared/base/reader-bounds.ts';
import { PracticeServer } from './server.ts';

/** Calls a minute of all managers together while nothing happens. */
const goal = 250;
const minutes = 24;
const checks = 5;
/** Of the whole pool: the second has ended managers before. */
const wholeChecks = 2;
/** What a manager reads of one answer, bytes. */
const longest = readerBounds.azureOfManager.bytes;

/**
 * `npm run bench -- pools [HOSTS]`: the calls of an idle fleet of managers to one pool, on a clock that does not wait; and
 * the memory of one of them beside pools of three sizes. Exit 1: a goal was missed.
 */
export async function run(args: readonly string[]): Promise<void> {
  const hosts = Number(args[0] ?? 1000);
  const sizes = [hosts / 100, hosts / 10, hosts].map((each) => Math.max(1, Math.round(each)));
  const server = await PracticeServer.start();
  try {
    for (const size of sizes) await server.fill(poolOf(size), size);
    const program = await bundle(server.folder);
    const measure = (what: string, limit: number, times = checks) =>
      sizes.map((size) =>
        memoryOf(program, [server.organization, poolOf(size), what, String(times), String(limit)]),
      );
    const own = measure('own', longest);
    const whole = measure('whole', Number.MAX_SAFE_INTEGER, wholeChecks);
    const byMark = paceOf(await askedBy(server.organization, poolOf(hosts), { hosts, minutes }), minutes);
    await server.readDemands(false);
    const unread = measure('own', longest);
    // By name a tenth of the hosts makes nearly as many calls.
    const few = Math.max(1, Math.round(hosts / 10));
    const byName = paceOf(await askedBy(server.organization, poolOf(few), { hosts: few, minutes }), minutes);
    const paces = [
      paceRow(`${hosts}`, byMark),
      paceRow(`${few}, of a server that does not read marks`, byName),
    ];
    const memories = [
      memoryRow('its own agents, as a manager does', own),
      memoryRow('the same of a server that does not read marks', unread),
      memoryRow('the whole pool with all details of each agent, as before', whole),
    ];
    const text = [
      '| hosts | calls a minute | in the busiest minute | in the busiest second | KiB a call |\n|---|---|---|---|---|',
      ...paces,
      '',
      `| one manager, after ${checks} checks (${wholeChecks} of the whole pool): MiB of heap (÷ smallest pool), peak of the process | ${sizes.map((size) => `${size * slots} agents`).join(' | ')} |`,
      `|---|${sizes.map(() => '---|').join('')}`,
      ...memories,
    ].join('\n');
    const title = `managers with ${slots} idle agents each in one pool, ${minutes} minutes of theirs; goal: at most ${goal} calls a minute`;
    recordResults('pools', title, text);
    for (const line of missed(byMark, own)) {
      process.stdout.write(`goal missed: ${line}\n`);
      process.exitCode = 1;
    }
  } finally {
    await server.end();
  }
}

const poolOf = (hosts: number): string => `of-${hosts}`;
const mib = (bytes: number): string => (bytes / 1024 ** 2).toFixed(1);

function paceRow(what: string, { aMinute, mostAMinute, mostASecond, kib }: Pace): string {
  return `| ${what} | ${aMinute.toFixed(0)} | ${mostAMinute} | ${mostASecond} | ${kib.toFixed(1)} |`;
}

type Seen = ReturnType<typeof memoryOf>;

function memoryRow(what: string, seen: readonly Seen[]): string {
  const least = seen[0]?.heap ?? Number.NaN;
  const cells = seen.map((each) =>
    each === undefined
      ? 'out of memory'
      : `${mib(each.heap)} (${(each.heap / least).toFixed(2)}), ${mib(each.peak)}`,
  );
  return `| ${what} | ${cells.join(' | ')} |`;
}

/** Memory that does not depend on the pool: runs differ by a tenth. */
function missed({ aMinute }: Pace, own: readonly Seen[]): readonly string[] {
  const [first, last] = [own[0], own.at(-1)];
  const grows = first === undefined || last === undefined || last.heap > first.heap * 1.1;
  return [
    ...(aMinute > goal ? [`${aMinute.toFixed(0)} calls a minute, goal at most ${goal}`] : []),
    ...(grows ? ['the memory of a manager grows with its pool'] : []),
  ];
}
