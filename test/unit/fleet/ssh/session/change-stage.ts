import type { StartChange } from '../../../../../src/fleet/ssh/session/durable-change.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';

/** The folder of the change `x,1` on a host. */
export const folder = '/var/lib/azp-fleet/changes/x,1';
const unit = 'azp-fleet-change-x,1.service';

export const query = `systemctl show -p SubState -p InvocationID -p Result ${unit}`;
/** The calls while systemd does not answer. */
export const unanswered = [query, ...Array.from({ length: 200 }, () => ['sleep 0.3', query]).flat()];
export const cleared = [query, `systemctl stop ${unit}`, `systemctl reset-failed ${unit}`];

/** Adds a systemd that reports these states of the unit in turn, then that it is gone; `-` is no answer. */
export function systemd(host: ScratchHost, ...states: readonly string[]): void {
  host.program(
    'systemctl',
    `echo "a word" >&2
case "$*" in
  show*)
    echo x >>/run/.asked
    state=$(echo ${states.join(' ')} dead dead | cut -d' ' -f"$(wc -l </run/.asked)")
    [ -n "$state" ] || state=dead
    [ "$state" != - ] || { echo "Failed to connect to bus" >&2; exit 1; }
    echo "Result=oom-kill"
    echo "InvocationID=$([ "$state" = dead ] || echo inv1)"
    echo "SubState=$state"
    echo "SubStateOfNone=running" ;;
  stop*) exit 5 ;;
esac`,
  );
}

/** Writes files of an earlier start. */
export function leftover(host: ScratchHost, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) host.file(`${folder}/${name}`, text);
}

export const change: StartChange = {
  id: 'x,1',
  title: `it's "100 %"`,
  owner: "ann@o'hara",
  script: 'echo "it\'s done"; echo oops >&2; false; echo not this',
  limitS: 8.2,
  run: 'r-1',
  since: '2026-11-21T00:00:00Z',
};
export const swept = [`systemctl reset-failed ${unit}`, `systemctl stop ${unit}`];

const launch = `systemd-run --quiet --unit=${unit} '--description=azp-fleet: it's "100 %"' -p RemainAfterExit=yes -p RuntimeMaxSec=9 -p TimeoutStopSec=30 /bin/sh ${folder}/runner`;
const marked = `sync ${folder}/run ${folder}`;
/** The calls of a start: the mark is on the disk before systemd-run. */
export const launched = [query, ...swept, query, marked, launch, query];
const runner = `PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C LANG=C
export PATH LC_ALL LANG
echo "$INVOCATION_ID" >${folder}/began || exit 1
/bin/sh -eu ${folder}/script >${folder}/output 2>&1 </dev/null
c=$?
echo "$c" >${folder}/code.new && mv ${folder}/code.new ${folder}/code
exit "$c"
`;
const folders = {
  '/var/lib/azp-fleet': '700 /',
  '/var/lib/azp-fleet/changes': '700 /',
  [folder]: '700 /',
  [`${folder}/lock`]: '600 ',
};
export const prepared = {
  ...folders,
  [`${folder}/output`]: '600 ',
  [`${folder}/script`]: `600 ${change.script}`,
  [`${folder}/runner`]: `600 ${runner}`,
  [`${folder}/title`]: `600 ${change.title}\n`,
  [`${folder}/owner`]: `600 ${change.owner}\n`,
  [`${folder}/since`]: `600 ${change.since}\n`,
};
export const output = "it's done\noops\n";
export const mark = { [`${folder}/run`]: '600 r-1 boot-1\n' };
export const ended = {
  ...prepared,
  ...mark,
  [`${folder}/output`]: `600 ${output}`,
  [`${folder}/began`]: '600 inv1\n',
  [`${folder}/code`]: '600 1\n',
};
type Files = Readonly<Record<string, string>>;
/** Returns the files without the folders. */
export const bare = (files: Files) =>
  Object.fromEntries(Object.entries(files).filter(([, text]) => text !== '700 /'));
/** Returns the files with the modes of an earlier start, without its lock. */
export const wide = (files: Files) =>
  Object.fromEntries(
    Object.entries(bare(files))
      .filter(([name]) => name !== `${folder}/lock`)
      .map(([name, text]) => [name, text.replace(/^600/, '644')]),
  );
export const locked = { [`${folder}/lock`]: '600 ' };
