import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { machineRoot } from '../src/shared/base/host-root.ts';
import { factScript } from '../src/fleet/facts/gather.ts';
import { ensurePackages } from '../practice/lab/machine.ts';
import { startSshd } from '../test/support/sshd.ts';
import { recordResults } from './results.ts';

/** One contender's run, measured by the shell: its children count. */
interface Measured {
  readonly name: string;
  readonly wallS: number;
  readonly cpuS: number;
  readonly ok: number;
  /** Where the contender is one process of ours. */
  readonly inside?: Inside;
}

/** What a process says of itself. Memory is the resident set as the kernel counted it. */
interface Inside {
  /** With everything imported and nothing connected. */
  readonly startMiB: number;
  readonly peakMiB: number;
  /** After the last host, over what it was after the first tenth of the hosts; no connection is open either time. */
  readonly left: { readonly descriptors: number; readonly handles: number; readonly heapKiB: number };
  readonly failures: readonly string[];
}

/**
 * Connect and fact script on many addresses of one sshd (127.0.0.0/8), all contenders with the same key, script and
 * concurrency, one after the other. Both ends share the machine, so wall time is mostly the server's.
 */
export async function run(args: readonly string[]): Promise<void> {
  const count = Number(args[0] ?? 1000);
  const concurrency = Number(args[1] ?? 64);
  await ensurePackages({ pssh: 'parallel-ssh' });
  const sshd = await startSshd({
    // A plain user with an empty home: start-up files of the machine's own users would be what is measured.
    users: [{ name: 'bench' }],
    listen: '0.0.0.0',
    config: ['MaxStartups 2000', 'MaxSessions 10', 'LogLevel ERROR'],
  });
  const folder = mkdtempSync(join(tmpdir(), 'azp-bench-'));
  try {
    const script = join(folder, 'facts.sh');
    writeFileSync(script, factScript({ root: machineRoot }));
    const hosts = Array.from(
      { length: count },
      (_v, index) => `127.${1 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`,
    );
    writeFileSync(join(folder, 'hosts'), `${hosts.join('\n')}\n`);
    const setting = {
      folder,
      script,
      port: sshd.port,
      user: 'bench',
      key: sshd.clientKeyFile,
      concurrency,
      count,
    };
    const results = [
      inProcess('azp-fleet', setting),
      inProcess('bare ssh2', setting),
      viaShell('xargs ssh', setting),
      viaShell('pssh', setting),
    ];
    recordResults('SSH: connect and read the facts', setup(count, concurrency), table(results));
  } finally {
    sshd.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Setting {
  readonly folder: string;
  readonly script: string;
  readonly port: number;
  readonly user: string;
  readonly key: string;
  readonly concurrency: number;
  readonly count: number;
}

function inProcess(name: 'azp-fleet' | 'bare ssh2', setting: Setting): Measured {
  const client = join(import.meta.dirname, 'ssh-client.ts');
  const line = `'${process.execPath}' --expose-gc '${client}' '${name}' '${JSON.stringify(setting)}'`;
  const { output, ...times } = timed(line);
  const { ok, ...inside } = JSON.parse(output) as Inside & { readonly ok: number };
  return { name, ...times, ok, inside };
}

function viaShell(
  name: 'xargs ssh' | 'pssh',
  { folder, script, port, user, key, concurrency }: Setting,
): Measured {
  const options = `-o Port=${port} -o IdentityFile=${key} -o IdentitiesOnly=yes -o User=${user} -o BatchMode=yes`;
  const files = `-o UserKnownHostsFile=${folder}/${name.replace(' ', '-')} -o StrictHostKeyChecking=accept-new -o LogLevel=ERROR`;
  const one = `ssh -F none ${options} ${files} {} sh -s <${script} >/dev/null && echo ok`;
  const line =
    name === 'xargs ssh'
      ? `xargs -P${concurrency} -I{} sh -c '${one}' <${folder}/hosts | wc -l`
      : `parallel-ssh -h ${folder}/hosts -p ${concurrency} -t 600 -I -x '-F none ${options} ${files}' sh -s <${script} | grep -c SUCCESS`;
  const { output, ...times } = timed(line);
  return { name, ...times, ok: Number(output) };
}

function timed(line: string): { readonly wallS: number; readonly cpuS: number; readonly output: string } {
  const text = execFileSync('bash', ['-c', `TIMEFORMAT='%R %U %S'; { time { ${line}; } 2>&3; } 3>&2 2>&1`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 1 << 26,
  });
  const lines = text.trim().split('\n');
  const [wall = 0, user = 0, system = 0] = (lines.pop() ?? '').split(' ').map(Number);
  return { wallS: wall, cpuS: user + system, output: lines.join('\n') };
}

function setup(count: number, concurrency: number): string {
  return `${count} addresses of one sshd, ${concurrency} at a time, the same key and script for all, both ends on this machine; azp-fleet\nreads them out of an ssh_config with a block for each, by \`ssh -G\`, the others get them as options`;
}

function table(results: readonly Measured[]): string {
  const bare = results.find(({ name }) => name === 'bare ssh2');
  const forks = results.find(({ name }) => name === 'xargs ssh');
  const rows = results.map(({ name, wallS, cpuS, ok, inside }) =>
    [
      name,
      wallS.toFixed(1),
      (wallS / (bare?.wallS ?? 1)).toFixed(2),
      cpuS.toFixed(1),
      ((forks?.cpuS ?? 0) / cpuS).toFixed(1),
      inside === undefined ? '' : `${inside.startMiB.toFixed(0)} → ${inside.peakMiB.toFixed(0)}`,
      ok,
      inside === undefined ? '' : leftAfter(inside),
    ].join(' | '),
  );
  return [
    '| client | wall s | ÷ bare ssh2 | client CPU s | xargs ssh ÷ | MiB: start → peak | hosts ok | left over |',
    '|---|---|---|---|---|---|---|---|',
    ...rows.map((row) => `| ${row} |`),
  ].join('\n');
}

function leftAfter({ left, failures }: Inside): string {
  const { descriptors, handles, heapKiB } = left;
  return [
    `${descriptors} descriptors, ${handles} handles, ${heapKiB.toFixed(0)} KiB of heap`,
    ...failures,
  ].join('; ');
}
