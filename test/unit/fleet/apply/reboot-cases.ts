import { readBootId, rebootScript, settle } from '../../../../src/fleet/apply/execute.ts';
import type { ScriptSuite } from '../../../support/scratch/case.ts';

export const rebootSuite: ScriptSuite = {
  name: 'a reboot',
  flags: [],
  given: (host) =>
    host
      .program('nohup', 'echo noise; echo noise >&2; exec "$@"', { silent: true })
      .program('systemctl', 'echo noise; echo noise >&2; exit 1')
      .program('sleep', '/bin/sleep 0.1')
      .program('timeout', 'echo "$1" >/run/limit; shift; exec "$@"', { silent: true }),
  cases: [
    {
      name: 'is distinguished from an earlier boot by its id',
      script: readBootId,
      given: (host) => host.file('/proc/sys/kernel/random/boot_id', '5b1c\n'),
      after: { stdout: '5b1c\n' },
    },
    {
      name: 'comes after the session has closed, and keeps none of its channels open',
      script: `${rebootScript}echo "before: $(cat /.calls 2>/dev/null)"; wait`,
      after: { stdout: 'before: \n', calls: ['sleep 1', 'systemctl reboot'] },
    },
    {
      name: 'ends when the system is running or degraded',
      script: settle,
      given: (host) => host.program('systemctl', 'echo degraded; echo noise >&2; exit 1'),
      after: { calls: ['systemctl is-system-running --wait'], files: { '/run/limit': '644 180\n' } },
    },
    {
      name: 'ends if systemctl does not answer',
      script: settle,
      after: { calls: ['systemctl is-system-running --wait'], files: { '/run/limit': '644 180\n' } },
    },
    {
      name: 'ends at the limit',
      script: settle,
      given: (host) => host.program('timeout', 'exit 124', { silent: true }),
      after: {},
    },
    {
      name: 'is waited for also with systemd 239, which does not wait',
      script: settle,
      given: (host) =>
        host
          .program('sleep', '')
          .file('/run/states', 'initializing\nstarting\nrunning\n')
          .program('systemctl', 'head -n 1 /run/states; sed -i 1d /run/states'),
      after: {
        calls: [
          'systemctl is-system-running --wait',
          'sleep 1',
          'systemctl is-system-running --wait',
          'sleep 1',
          'systemctl is-system-running --wait',
        ],
        files: { '/run/limit': '644 180\n', '/run/states': '644 ' },
      },
    },
  ],
};
