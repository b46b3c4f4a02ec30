// Draws hosts at work on the terminal that it is started on, until it is interrupted: `node drawn-fleet.ts HOSTS`.
import { PassThrough } from 'node:stream';

import type { Context } from '../../src/shared/base/context.ts';
import { guardOutput } from '../../src/shared/base/terminal-output.ts';
import { silentLogger } from '../../src/shared/base/log.ts';
import { systemClock } from '../../src/shared/base/clock.ts';
import { machineRoot } from '../../src/shared/base/host-root.ts';
import { Redactor } from '../../src/shared/base/redact.ts';
import { createProgress } from '../../src/cli/render/progress.ts';

const hosts = Array.from({ length: Number(process.argv[2] ?? 3) }, (_, index) => `gpu-host-${index}`);
const clock = systemClock(1);
const stop = new AbortController();
const redactor = new Redactor();
const [stdout, stderr] = [process.stdout, process.stderr].map((stream) => guardOutput(stream, redactor));
const context: Context = {
  env: process.env,
  cwd: process.cwd(),
  home: process.cwd(),
  user: 'me',
  stdout: process.stdout,
  stderr: process.stderr,
  unfiltered: {
    stdout: stdout?.unfiltered ?? process.stdout,
    stderr: stderr?.unfiltered ?? process.stderr,
  },
  stdin: new PassThrough(),
  clock,
  root: machineRoot,
  signal: stop.signal,
  log: silentLogger,
  redactor,
};
const progress = createProgress(context, { hosts, json: false });
for (const host of hosts) {
  progress.sink({ kind: 'host-state', host, state: 'applying' });
  progress.sink({
    kind: 'change-start',
    host,
    id: host,
    title: `install NVIDIA driver 580.95.05 (open kernel modules, compute only) on ${host}`,
    since: clock.monotonic(),
    limitMs: 3_600_000,
  });
  progress.sink({
    kind: 'change-output',
    host,
    id: host,
    line: `Unpacking nvidia-kernel-open-dkms (580.95.05-1) over (570.86.10-1) on ${host} ...`,
  });
}
const alive = setInterval(() => undefined, 1000);
process.once('SIGINT', () => {
  clearInterval(alive);
  void progress.finish().then(() => {
    stderr?.finish();
    process.stdout.write('the end\n');
  });
});
