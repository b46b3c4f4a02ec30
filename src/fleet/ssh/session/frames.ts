import { randomBytes } from 'node:crypto';

import { quote } from '../../../shared/base/shell.ts';

/** One probe of a framed script: a name and POSIX sh text. */
export interface Probe {
  /** `[a-z0-9-]+` */
  readonly name: string;
  readonly script: string;
  /** Seconds before `timeout -k` ends it; default 5. */
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

const defaultTimeoutS = 5;

/**
 * Joins probes to one script. Each runs in a separate shell with its own time limit, and none can stop the next one. Its output is
 * cut at `limit` bytes of each stream, so that one that prints too much leaves the others theirs.
 * The output goes through files on a tmpfs, not pipes: a process in uninterruptible sleep (a hung nvidia-smi) cannot be
 * killed and would hold a pipe, and us, forever. For the same reason there are two `timeout`: the inner one waits for
 * its child in any case, the outer one can always leave it.
 */
export function frameScript(probes: readonly Probe[], limit: number): string {
  const nonce = randomBytes(12).toString('hex');
  const lines = [
    `d=$(mktemp -d /run/azp-fleet-facts.XXXXXX 2>/dev/null || mktemp -d) || exit 1`,
    `trap 'rm -rf "$d"' EXIT`,
    `n=1000`,
    `probe() {`,
    `  n=$((n+1)); read -r t0 _ </proc/uptime`,
    `  timeout -k 1 $(($2+2)) timeout -k 1 "$2" /bin/sh -c "$3" </dev/null >"$d/$n.b" 2>"$d/$n.d"; c=$?`,
    `  read -r t1 _ </proc/uptime`,
    `  printf '\\n%s begin %s\\n' ${nonce} "$1" >"$d/$n.a"`,
    `  printf '\\n%s end %s %s %s %s\\n' ${nonce} "$c" "$t0" "$t1" "$2" >"$d/$n.c"`,
    `}`,
    ...probes.map(
      (probe) => `probe ${quote(probe.name)} ${probe.timeoutS ?? defaultTimeoutS} ${quote(probe.script)}`,
    ),
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
