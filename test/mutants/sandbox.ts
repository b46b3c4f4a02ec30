import { spawn, spawnSync } from 'node:child_process';

/** Set in the process that may run damaged scripts. */
const mark = 'AZP_FLEET_SANDBOX';

/** Every file system but /dev/shm is read-only, and processes and networks outside cannot be seen. */
const enclose = `mount --make-rprivate /
mount -t tmpfs tmpfs /dev/shm
for place in $(cut -d' ' -f5 /proc/self/mountinfo | sort -u); do
  case $place in
    /proc | /proc/* | /dev | /dev/* | /sys | /sys/*) ;;
    *) mount -o remount,bind,ro "$place" 2>/dev/null || : ;;
  esac
done
ip link set lo up 2>/dev/null || :
if (echo >"$0") 2>/dev/null; then echo 'the file systems are still writable' >&2; exit 1; fi
export TMPDIR=/dev/shm ${mark}=yes
exec "$@"`;

export function isSandbox(): boolean {
  return process.env[mark] === 'yes';
}

/**
 * Runs a program of ours where a damaged script can damage nothing: separate namespaces, for which Linux wants root or
 * user namespaces. Resolves with what it printed.
 */
export function inSandbox(args: readonly string[]): Promise<string> {
  const flags = ['--mount', '--pid', '--net', '--fork', '--kill-child', '--mount-proc'];
  const root = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  const witness = new URL('../../node_modules/.mutants-witness', import.meta.url).pathname;
  if (spawnSync('unshare', [...root, ...flags, 'true']).status !== 0)
    throw new Error('damaged scripts run in namespaces of their own only: root on Linux, or user namespaces');
  const child = spawn(
    'unshare',
    [...root, ...flags, 'sh', '-ec', enclose, witness, process.execPath, ...args],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve(printed) : reject(new Error(`the sandbox ended with code ${code}`)),
    );
  });
}
