// Loaded into a measured Node process: writes its peak memory and most descriptors at its exit, as JSON.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { env } from 'node:process';

let descriptors = 0;
const count = () => {
  descriptors = Math.max(descriptors, readdirSync('/proc/self/fd').length);
};
setInterval(count, 20).unref();
// Not its children: `ssh -G` is no Node, but a program that one starts could be.
const file = env.AZP_BENCH_USAGE;
delete env.AZP_BENCH_USAGE;
if (file !== undefined)
  process.on('exit', () => {
    count();
    const [, kib = '0'] = /^VmHWM:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    writeFileSync(file, JSON.stringify({ peakMB: (Number(kib) * 1024) / 1e6, descriptors }));
  });
