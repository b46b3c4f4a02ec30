import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { readFloors, regressions } from './floor.ts';
import type { Extent } from './measure.ts';
import { seenNow, speedDocs, stopRecording } from './results.ts';

interface Bench {
  run(args: readonly string[], extent: Extent): void | Promise<void>;
}

/** The parts that fill docs/speed.md. */
const speed: Readonly<Record<string, () => Promise<Bench>>> = {
  start: () => import('./start.ts'),
  ssh: () => import('./ssh.ts'),
  growth: () => import('./growth.ts'),
  provision: () => import('./provision.ts'),
  'status-screen': () => import('./status-screen.ts'),
  hosts: () => import('./hosts.ts'),
  links: () => import('./links.ts'),
  manager: () => import('./manager/measure.ts'),
  listener: () => import('./manager/listener.ts'),
};

const others: typeof speed = {
  whole: () => import('./whole.ts'),
  azure: () => import('./azure.ts'),
  pools: () => import('./pools/measure.ts'),
  flood: () => import('./flood/measure.ts'),
};

/** A manager needs minutes to show its costs. */
const notQuick = new Set(['growth', 'provision', 'links', 'manager', 'listener']);

const all = { ...speed, ...others };
const usage = `npm run bench -- [NAME [ARGUMENTS]] [--check] [--quick] [--long] [--rounds N]

  NAME      ${Object.keys(all).join(', ')};
            without it, all up to listener, which fill docs/speed.md
  --check   compares with bench/floor.json, writes nothing; exit 1 where a row is worse
  --quick   fewer hosts and rounds, without the parts that take minutes
  --long    also 10,000 hosts, and Ansible with 1,000 addresses
  --rounds  how often each command runs; the median counts
`;

function read() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        help: { type: 'boolean', default: false },
        check: { type: 'boolean', default: false },
        quick: { type: 'boolean', default: false },
        long: { type: 'boolean', default: false },
        rounds: { type: 'string' },
      },
    });
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    return process.exit(2);
  }
}

const { values, positionals } = read();
if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}
const [named, ...args] = positionals;
const { check, quick, long } = values;
const extent: Extent = {
  quick,
  long,
  rounds: values.rounds === undefined ? undefined : Number(values.rounds),
};
// `git bisect` needs a work tree without changes.
if (check) stopRecording();
const names =
  named === undefined ? Object.keys(speed).filter((name) => !quick || !notQuick.has(name)) : [named];
for (const name of names) {
  const load = all[name];
  if (load === undefined)
    throw new Error(`no measurement is called ${name}; there are: ${Object.keys(all).join(', ')}`);
  await (await load()).run(args, extent);
}

if (!check)
  for (const [name, text] of Object.entries(speedDocs()))
    writeFileSync(new URL(`../docs/${name}`, import.meta.url), text);
const lines = regressions(readFloors(), seenNow());
process.stdout.write(lines.length === 0 ? 'no row is worse than its floor\n' : `${lines.join('\n')}\n`);
if (check && lines.length > 0) process.exitCode = 1;
