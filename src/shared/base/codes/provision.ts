import type { Entries } from './entry.ts';

/** Plan, apply, proof, and what is brought to hosts. */
export const provisionCodes = {
  'artifact.integrity': [
    'a downloaded file is not the one expected',
    'see which registry npm uses; run again',
  ],
  'artifact.missing': [
    'a part of this installation is missing',
    'build the clone, or install azp-fleet again',
  ],
  'artifact.runtime-unavailable': [
    'the Node runtime for the hosts could not be fetched',
    'check that npm reaches its registry here',
  ],
  'bundle.agent': ['the agent for a bundle cannot be fetched', 'do what is told, and run it again'],
  'bundle.damaged': ['a bundle is not as it was made', 'copy it again, or make it again'],
  'bundle.docker': [
    'Docker on this machine, which bundles are made with, did not do what it was asked',
    'start Docker here, or name another with DOCKER_HOST',
  ],
  'bundle.file': ['a bundle cannot be read or written', 'name another file'],
  'bundle.hosts': ['hosts cannot be provided for by a bundle', 'do what is told of each'],
  'bundle.packages': ['the packages for a bundle cannot be fetched', 'do what is told, and run it again'],
  'bundle.version': ['the bundle was made by another release', 'use that release, or make it again'],
  'change.failed': ['the script of a change failed', 'cure the cause and run the same command again'],
  'docker.down': ['the Docker Engine is not running', 'see systemctl status docker on the host'],
  'drain.at-work': [
    'a run is at work on a host, or has left a change at work there: agents stay drained beside it',
    'wait for its end, or run azp-fleet provision, which follows it',
  ],
  'drain.timeout': ['jobs still run at the end of the wait', 'wait on, or azp-fleet undrain'],
  'facts.unreadable': ['the facts of a host could not be read', 'look at the host by hand'],
  'host.same-machine': [
    'two hosts of the inventory are one machine, or copies of one disk with one machine-id',
    'take one of the names out; give a copy a machine-id of its own',
  ],
  'host.not-provisioned': ['the host has no manager', 'run azp-fleet provision'],
  'plan.drain-timeout': [
    'jobs still ran when the drain before a change timed out; nothing was changed',
    'run again when they have ended, or give them longer',
  ],
  'plan.endless': ['changes do not come to an end', 'find what undoes them on the host'],
  'plan.facts-changed': ['the host is not as it was when the plan was saved', 'make a new plan'],
  'plan.file': ['a saved plan cannot be read or written', 'name another file, or make a new plan'],
  'plan.inventory-changed': ['the inventory is not the one of the saved plan', 'make a new plan'],
  'plan.no-effect': ['a change ran without an error and is still needed', 'look at the host, then run again'],
  'plan.not-announced': [
    'what is left is not what the plan announced',
    'run again, and look at the new plan',
  ],
  'plan.reboot-timeout': ['the host did not come back from its reboot', 'look at its console'],
  'plan.refused': ['a step refuses to work on the host, and says why', 'do what it says, then run again'],
  'plan.version': ['the plan was saved by another version', 'make a new plan'],
  'toolkit.missing': ['nvidia-container-toolkit is not installed', 'run azp-fleet provision'],
  'wave.held': [
    'the turn of a host did not come in the waves of a run',
    'do what is told, then run the same command again',
  ],
  'wave.stopped': [
    'the waves stopped before the turn of the host',
    'cure the hosts that are named, then run it again',
  ],
  'remove.agent-busy': [
    'the server still counts a job as running on an agent that is to go',
    'wait, or cancel the job, then run again',
  ],
} as const satisfies Entries;
