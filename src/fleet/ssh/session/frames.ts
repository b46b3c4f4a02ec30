import { randomBytes } from 'node:crypto';

import { quote } from '../../../shared/base/shell.ts';

/** One probe of a framed script: a name and POSIX sh text. */
export interface Probe {
  /** `[a-z0-9-]+` */
  readonly name: string;
  readonly script: string;
  /** Seconds before `timeout -k` ends it; default 10: a busy host is slow, and its answer still counts. */
  readonly timeoutS?: number;
}

/** The result of one probe. */
export interface Frame {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Milliseconds, in steps of ten. */
  readonly durationMs: number;
  readonly timedOut: boolean;
}

const defaultTimeoutS = 10;

/** Seconds for a process that probes share, and the most such processes one after the other. */
const sharedS = 5;
const mostShared = 4;

/**
 * Shell function `each`: runs those of the probes `$@` (number, name, limit and text each) that have no end yet, each with
 * `run LIMIT TEXT`. With `$only` set to begun it leaves those that no process has begun, and sets `$left`. A process that was left
 * may still write into its files, so that they are removed, not written over.
 */
const eachProbe = (nonce: string): string => `each() {
  left=
  while [ "$#" -gt 0 ]; do
    f=\${d:?}/$1
    if [ -s "$f.c" ]; then
      :
    elif [ "\${only:-}" = begun ] && [ ! -e "$f.a" ]; then
      left=yes
    else
      [ ! -e "$f.a" ] || rm -f "$f".*
      read -r t0 _ </proc/uptime
      printf "\\n%s begin %s\\n" ${nonce} "$2" >"$f.a"
      run "$3" "$4" </dev/null >"$f.b" 2>"$f.d"; c=$?
      read -r t1 _ </proc/uptime
      [ "\${shared:-}$c" = yes75 ] ||
        printf "\\n%s end %s %s %s %s\\n" ${nonce} "$c" "$t0" "$t1" "$3" >"$f.c"
    fi
    shift 4
  done
}`;

/**
 * Joins probes to one script. Each has its own time limit, and none can stop the next one. Its output is cut at `limit` bytes of
 * each stream, so that one that prints too much leaves the others theirs.
 * They run in one process, each in a subshell: three processes for each would take longer than most probes do. The one that this
 * process did not finish in its time, and those that leave it (code 75 where `$shared` is set), run in a separate process, with its
 * own limit each; then another process goes on with the rest. On a busy host all of them take longer, and more processes would
 * make that worse.
 * The output goes through files on a tmpfs, not pipes: a process in uninterruptible sleep (a hung nvidia-smi) cannot be
 * killed and would hold a pipe, and us, forever. For the same reason there are two `timeout`: the inner one waits for
 * its child in any case, the outer one can always leave it.
 */
export function frameScript(probes: readonly Probe[], limit: number): string {
  const nonce = randomBytes(12).toString('hex');
  const words = probes.map(
    ({ name, timeoutS = defaultTimeoutS, script }, at) =>
      ` \\\n  ${1000 + at} ${quote(name)} ${timeoutS} ${quote(script)}`,
  );
  const lines = [
    `d=$(mktemp -d /run/azp-fleet-facts.XXXXXX 2>/dev/null) || d=$(mktemp -d) || exit 1`,
    `trap 'rm -rf "$d"' EXIT`,
    `export d shared=`,
    `each=${quote(eachProbe(nonce))}`,
    'eval "$each"',
    `set --${words.join('')}`,
    `run() { timeout -k 1 $(($1 + 2)) timeout -k 1 "$1" /bin/sh -c "$2"; }`,
    `for pass in ${Array.from({ length: mostShared }, (_, pass) => pass + 1).join(' ')}; do`,
    `  timeout -k 1 ${sharedS + 2} timeout -k 1 ${sharedS} /bin/sh -c 'shared=yes`,
    `run() (text=$2; set --; eval "$text")`,
    `eval "$1"; shift; each "$@"' sh "$each" "$@"`,
    '  only=begun; each "$@"; only=',
    '  [ -n "$left" ] || break',
    'done',
    'each "$@"',
    `printf 'frames %s\\n' ${nonce}`,
    `head -q -c ${limit} "$d"/*`,
  ];
  return `${lines.join('\n')}\n`;
}

/** Splits the output of a framed script by probe. Probes without output are missing; ignores other text. */
export function parseFrames(stdout: string): Map<string, Frame> {
  const frames = new Map<string, Frame>();
  const nonce = /^frames ([0-9a-f]{24})$/m.exec(stdout)?.[1];
  if (nonce === undefined) return frames;
  for (const part of stdout.split(`\n${nonce} begin `).slice(1)) {
    const frame = new RegExp(
      `^([a-z0-9-]+)\n([^]*)\n${nonce} end (\\d+) ([\\d.]+) ([\\d.]+) (\\d+)\n([^]*)$`,
    ).exec(part);
    if (frame === null) continue;
    const [, name = '', out = '', code, start, end, limit, err = ''] = frame;
    const durationMs = Math.round((Number(end) - Number(start)) * 1000);
    frames.set(name, {
      code: Number(code),
      stdout: out,
      stderr: err,
      durationMs,
      timedOut: (code === '124' || code === '137') && durationMs >= Number(limit) * 1000 - 20,
    });
  }
  return frames;
}
