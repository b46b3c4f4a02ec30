import { dockerFaults, managerFaults } from './entry.ts';

/** The manager on a host: its problems and its answers. */
export const managerCodes = {
  'control.bad-request': [
    'the manager does not understand the request',
    'run `azp-fleet provision`: it brings manager and CLI to one version',
  ],
  'control.failed': ['the manager failed to answer', 'check `journalctl -u azp-fleet-manager` on the host'],
  'control.not-found': [
    'the manager does not know this request',
    'run `azp-fleet provision`: it brings manager and CLI to one version',
  ],
  'dataset.writable-below': [
    'a mount below a dataset is writable',
    'mount it read-only, or use Docker 25 and Linux 5.12 or newer',
    { title: 'Dataset has a writable mount', severity: 'warn' },
  ],
  'dataset.unusable': [
    'a dataset is missing, empty or not mounted',
    'mount it; the manager checks again by itself',
    { kind: 'permanent' },
  ],
  'disk.full': [
    'the disk of Docker is nearly full',
    'free space',
    { title: 'Disk is nearly full', kind: 'permanent' },
  ],
  'file.damaged': [
    'a state file of the manager and its previous version cannot be read',
    'restore it from a backup',
  ],
  'fence.network': [
    'a Docker network has the name of the one that isolates jobs, and another configuration',
    'remove that network, or drain the host: the manager then creates it again',
    { title: 'Network of the jobs differs', dependsOn: dockerFaults, kind: 'permanent' },
  ],
  'fence.open': [
    'jobs may reach the metadata service of the cloud',
    'make `ip rule` work on the host (package iproute2)',
    { kind: 'permanent' },
  ],
  'fence.unknown': [
    'network isolation of jobs has not been checked yet',
    'wait a moment',
    { kind: 'startup' },
  ],
  'history.not-written': [
    'the manager cannot write its history; jobs run without it',
    'free space on the disk of /var/lib/azp-fleet; the manager tries again by itself',
  ],
  'idle.ending': [
    'the machine was idle for as long as idle.after says, and is powering off',
    'start the machine when you need it',
  ],
  'idle.not-ended': [
    'the machine is idle and did not power off as the inventory says',
    'check `journalctl -u azp-fleet-idle` on the host, and correct idle.run',
  ],
  'manager.already-running': ['another manager runs on this machine', 'use that one, or stop it'],
  'manager.answer': ['the response of the manager cannot be read', 'run `azp-fleet provision`'],
  'manager.config': ['the configuration of the manager is not valid', 'run `azp-fleet provision`'],
  'manager.crashed': [
    'the manager ended on an uncaught error; it was started again, and running jobs continued',
    'report it with the lines of `journalctl -u azp-fleet-manager`',
  ],
  'manager.down': [
    'the manager is not running',
    'check `journalctl -u azp-fleet-manager` on the host',
    { title: 'Manager is not running' },
  ],
  'manager.failed': [
    'the manager met an unexpected error',
    'check `journalctl -u azp-fleet-manager` on the host, and report it',
  ],
  'manager.leaving': ['the manager is stopping, and stops its idle agents', 'start it again'],
  'manager.no-lock': [
    'the lock that allows one manager on a machine cannot be taken',
    'use a local file system',
  ],
  'manager.not-ready': ['the manager was not ready in time', 'run the command again: it resumes'],
  'manager.not-running': [
    'the manager does not answer after a change',
    'check `journalctl -u azp-fleet-manager` on the host',
  ],
  'manager.older-config': [
    'the manager runs with the configuration from before the last change',
    'run `azp-fleet provision`, which restarts it; jobs keep running',
    { title: 'Manager has an older configuration', dependsOn: managerFaults },
  ],
  'manager.problem': ['the manager reports a problem', 'do what its message says'],
  'manager.refused': [
    'the manager refused the request without a reason',
    'check `journalctl -u azp-fleet-manager` on the host',
  ],
  'manager.registries': [
    'the manager cannot read the passwords of the registries',
    'run `azp-fleet provision`',
  ],
  'manager.release': [
    'the versions of manager and CLI are too far apart',
    'use the newer CLI, or run `azp-fleet provision` with it',
    { title: 'Manager is of another release', severity: 'warn' },
  ],
  'manager.old-view': [
    'the manager’s test of the connection, or its view of the pool, is too old for a verdict',
    'check `journalctl -u azp-fleet-manager` on the host',
    {
      title: 'View of the manager is old',
      dependsOn: [...managerFaults, 'azure.no-connection', 'azure.auth'],
    },
  ],
  'manager.silent': [
    'the manager has not reported for 90 s',
    'check `systemctl status azp-fleet-manager` on the host, or check now with --probe',
    { title: 'Manager does not report', dependsOn: managerFaults },
  ],
  'manager.subsystem-failed': [
    'a part of the manager met an unexpected error; it starts again by itself',
    'if it stays, report it with the lines of `journalctl -u azp-fleet-manager`',
  ],
  'manager.subsystem-off': [
    'the manager runs without a part that ended it three times in ten minutes',
    'report it with the lines of `journalctl -u azp-fleet-manager`, then restart the manager',
  ],
  'manager.unreachable': [
    'the manager does not answer on its socket',
    'check `systemctl status azp-fleet-manager` on the host',
  ],
  'manager.usage': ['the arguments of azp-fleet-manager are not valid', 'run `azp-fleet-manager --help`'],
  'metrics.port': [
    'the port of the metrics cannot be opened; jobs run without metrics',
    'end the other program on that port',
  ],
  'pool.missing': [
    'the pool does not exist, or the token lacks permission',
    'create it with `azp-fleet pool create`, or correct pool:',
    { kind: 'permanent' },
  ],
  'pool.unknown': [
    'the manager has not found the pool yet',
    'check the problem of the pool',
    { kind: 'startup' },
  ],
  'slot.no-size-limit': [
    'limits.disk has no effect: the storage of Docker or mode: host has no size limits, or btrfs stopped counting',
    'remove it from the inventory, or put the root directory of Docker on xfs with pquota',
    { title: 'No limit of disk space', severity: 'warn' },
  ],
  'state.not-written': [
    'the manager cannot write its state',
    'free space on the host, and check `journalctl -u azp-fleet-manager`',
  ],
  'webhook.none': [
    'the host has no webhook',
    'set webhook: in the inventory, then run `azp-fleet provision`',
  ],
  'webhook.refused': ['the webhook rejects messages', 'correct webhook.url, then run `azp-fleet provision`'],
  'webhook.unreachable': ['the webhook does not answer', 'check network, proxy and certificates of the host'],
  'webhook.unusable': ['the URL of the webhook cannot be read', 'run `azp-fleet provision`'],
} as const;
