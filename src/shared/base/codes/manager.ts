import type { Entries } from './entry.ts';

/** The manager on a host: what keeps it from working, and how it answers. */
export const managerCodes = {
  'control.bad-request': [
    'the manager does not understand the question',
    'bring both to one version: provision',
  ],
  'control.failed': ['the manager could not answer', 'look at journalctl -u azp-fleet-manager'],
  'control.not-found': ['the manager does not know this call', 'bring both to one version: provision'],
  'dataset.writable-below': [
    'what is mounted below a dataset is not read-only with it',
    'mount it read-only, or bring Docker 25 and Linux 5.12',
  ],
  'dataset.unusable': ['a dataset is missing, empty or not mounted', 'mount it; it is looked at again'],
  'disk.full': ['the disk of Docker is nearly full', 'free space'],
  'file.damaged': [
    'a file in which the manager remembers things, and the one before it, cannot be read',
    'restore it from a backup',
  ],
  'fence.network': [
    'a network of Docker has the name of the one that keeps jobs apart, and is another',
    'remove it, or drain the host: it is made anew',
  ],
  'fence.open': ['jobs may reach the metadata of the cloud', 'make ip rule work (package iproute2)'],
  'fence.unknown': ['whether the fence stands around jobs is being looked at', 'wait a moment'],
  'idle.ending': [
    'nobody used the machine for as long as idle.after says, and it is being ended',
    'start it when it is needed',
  ],
  'idle.not-ended': [
    'nobody uses the machine, and it does not end as the inventory says',
    'see journalctl -u azp-fleet-idle on the host, and correct idle.run',
  ],
  'manager.already-running': ['another manager runs on this machine', 'use that one, or stop it'],
  'manager.answer': ['the answer of the manager cannot be read', 'run azp-fleet provision'],
  'manager.config': ['the configuration of the manager cannot be used', 'run azp-fleet provision'],
  'manager.down': ['the manager is not running', 'see journalctl -u azp-fleet-manager on the host'],
  'manager.failed': ['the manager met what it did not expect', 'look at its journal, and report it'],
  'manager.leaving': ['the manager was told to stop, and takes its idle agents along', 'start it again'],
  'manager.no-lock': [
    'the lock that keeps a machine to one manager cannot be had',
    'use a local file system',
  ],
  'manager.not-ready': ['the manager was not ready in time', 'run again: it goes on by itself'],
  'manager.not-running': ['the manager does not answer after a change', 'see its journal on the host'],
  'manager.older-config': [
    'the manager runs with the configuration before the last change',
    'run azp-fleet provision',
  ],
  'manager.problem': ['the manager reports a problem', 'do what it says'],
  'manager.refused': ['the manager refused without words of ours', 'see its journal on the host'],
  'manager.registries': ['the passwords of registries cannot be read', 'run azp-fleet provision'],
  'manager.release': [
    'manager and program are of releases too far apart',
    'use the newer program, or run azp-fleet provision with it',
  ],
  'manager.silent': ['the manager has not reported for five minutes', 'see systemctl status, or use --probe'],
  'manager.unreachable': ['the manager does not answer on its socket', 'see systemctl status on the host'],
  'manager.usage': ['the arguments of azp-fleet-manager are not understood', 'see azp-fleet-manager --help'],
  'pool.missing': ['the pool is not there, or may not be seen', 'make it, or correct pool:'],
  'pool.unknown': ['the pool has not been found yet', 'look at the problem of the pool'],
  'slot.no-size-limit': [
    'limits.disk is not held: the storage of Docker, or mode: host, knows no sizes, or btrfs has stopped counting',
    'take it out of the inventory, or put the root directory of Docker on xfs with pquota',
  ],
  'state.not-written': [
    'the manager cannot write down what it must remember',
    'free space on the host, and see its journal',
  ],
  'webhook.none': ['no webhook is set for the host', 'set webhook: in the inventory, then provision'],
  'webhook.refused': ['the webhook does not take messages', 'correct webhook.url, then provision'],
  'webhook.unreachable': ['the webhook does not answer', 'check network, proxy and certificates of the host'],
  'webhook.unusable': ['the address of the webhook cannot be read', 'run azp-fleet provision'],
} as const satisfies Entries;
