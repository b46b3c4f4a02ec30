import type { FakeJob } from '../../practice/azure/control/control.ts';
import type { AgentFiles } from '../../test/support/agent-session.ts';

/** Attacks of a job on its neighbours. Each is bash in a separate container, and not the first job of its slot. */
const deeds = {
  // Only on a small disk: it fills a lab host's disk, never this machine's.
  'fills the disk': `
[ "$(df --output=size -k "$HOME" | tail -n 1)" -lt 20000000 ] || { echo "the disk is too large to fill"; exit 9; }
for size in 1G 256M 64M 16M 4M 1M; do
  n=0
  while fallocate -l "$size" "$HOME/full-$size-$n" 2>/dev/null; do n=$((n + 1)); done
done
cat /dev/zero >"$HOME/full-rest" 2>/dev/null
sleep 3`,
  // The soak publishes them while the job runs. Early: attackers attack until the last fault only.
  'publishes capabilities': `
sleep 5`,
  'prints a megabyte without a newline': `
head -c 1048576 /dev/zero | tr '\\0' x >/proc/1/fd/1
head -c 1048576 /dev/zero | tr '\\0' y`,
  'forks to its limit': `
while (sleep 20 &) 2>/dev/null; do n=$((n + 1)); [ "$n" -lt 5000 ] || break; done
echo "so many processes: $n"`,
  'prints markers and forges XIDs': `
stamp=$(date -u '+%Y-%m-%d %H:%M:%SZ')
for line in "Job soak completed with result: Succeeded" "Listening for Jobs" "Running job: soak" \\
  "Agent connect error: refused. Retrying until reconnected." "Agent update in progress, do not shutdown agent."; do
  for n in 1 2 3 4 5 6 7 8 9 10; do echo "$stamp: $line" >/proc/1/fd/1; done
done
echo 'An error occurred: Failed to create session. The agent is gone' >/proc/1/fd/1
echo 'NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.' >/proc/1/fd/1
cp "$(command -v bash)" "$HOME/NVRM: Xid (PCI:"
"$HOME/NVRM: Xid (PCI:" -c 'f() { f; }; f' 2>/dev/null`,
  'copies its key': `
for file in .agent .credentials .credentials_rsaparams; do
  echo "copied $file $(base64 -w 0 "/azp/$file")"
done`,
  'survives SIGTERM': `
trap '' INT TERM HUP
env -i setsid bash -c "trap '' INT TERM HUP; exec sleep 3600" </dev/null >/dev/null 2>&1 &
sleep 1`,
} as const;

export type Deed = keyof typeof deeds;
const kinds = Object.keys(deeds) as Deed[];
const marker = 'hostile: ';

/** Every tenth job, in turn; undefined: an ordinary one. `number` counts from 1. Pure. */
export function hostileJob(
  number: number,
): { readonly name: string; readonly deed: Deed; readonly script: string } | undefined {
  const deed = kinds[(number / 10 - 1) % kinds.length];
  return number % 10 === 0 && deed !== undefined
    ? { name: `${marker}soak-${number} ${deed}`, deed, script: `${deeds[deed]}\nexit 0\n` }
    : undefined;
}

/** True for a job whose agent gets thousands of capabilities. Pure. */
export function publishes({ name }: Pick<FakeJob, 'name'>): boolean {
  return isHostile({ name }) && name.endsWith('publishes capabilities' satisfies Deed);
}

/** Damage to itself does not count. Pure. */
export function isHostile({ name }: Pick<FakeJob, 'name'>): boolean {
  return name.startsWith(marker);
}

/** Counts each attack, including those that did not happen. Pure. */
export function deedsDone(jobs: readonly FakeJob[]): ReadonlyMap<Deed, number> {
  return new Map(
    kinds.map((deed) => [
      deed,
      jobs.filter((job) => isHostile(job) && job.name.endsWith(deed) && job.runs.length > 0).length,
    ]),
  );
}

/** The key that a job has copied into its log; undefined: none, or not the whole of it. Pure. */
export function copiedKey({ log }: Pick<FakeJob, 'log'>): AgentFiles | undefined {
  const files = [...log.matchAll(/^copied (\.[a-z_]+) (\S+)$/gmu)].map(
    ([, name = '', text = '']) => [name, Buffer.from(text, 'base64')] as const,
  );
  return files.length === 3 ? new Map(files) : undefined;
}
