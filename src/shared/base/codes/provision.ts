/** Plan, apply, proof, and what is uploaded to hosts. */
export const provisionCodes = {
  'audit.damaged': [
    "lines of a host's audit file cannot be read",
    'compare the file with `journalctl -t azp-fleet-audit` on the host',
  ],
  'artifact.integrity': [
    'the digest of a downloaded file differs from the expected one',
    'check which registry npm uses; run the command again',
  ],
  'artifact.missing': [
    'this installation of azp-fleet is incomplete',
    'build the clone, or install azp-fleet again',
  ],
  'artifact.runtime-unavailable': [
    'the Node runtime for the hosts could not be downloaded',
    'check that npm reaches its registry from this machine',
  ],
  'bundle.agent': [
    'the agent for a bundle could not be downloaded',
    'do what the message says, and run the command again',
  ],
  'bundle.damaged': ['the bundle is damaged', 'copy it again, or make it again'],
  'bundle.docker': [
    'Docker on this machine, which makes bundles, failed',
    'start Docker on this machine, or name another engine with DOCKER_HOST',
  ],
  'bundle.file': ['the bundle cannot be read or written', 'name another file'],
  'bundle.hosts': [
    'a bundle cannot contain all that some hosts need',
    'do what the message says for each host',
  ],
  'bundle.packages': [
    'the packages for a bundle could not be downloaded',
    'do what the message says, and run the command again',
  ],
  'bundle.version': [
    'another version of azp-fleet made the bundle',
    'use that version, or make the bundle again',
  ],
  'change.failed': ['the script of a change failed', 'fix the cause and run the same command again'],
  'docker.down': [
    'the Docker Engine is not running',
    'check `systemctl status docker` on the host',
    { title: 'Docker is not running' },
  ],
  'drain.at-work': [
    'another run works on the host, or left a change running there; its drain remains',
    'wait until it ends, or run `azp-fleet provision`, which follows it',
  ],
  'drain.left': [
    'drains of other users or runs remain after undrain',
    'ask them, or run `azp-fleet undrain HOST --of NAME`',
  ],
  'drain.timeout': [
    'jobs still ran when the drain timed out',
    'run the command again to keep waiting, or run `azp-fleet undrain`',
  ],
  'facts.incomplete': [
    'some facts of a host could not be read, so nothing was changed there',
    'run the named command on the host, and fix what it shows',
    { title: 'Facts are unknown' },
  ],
  'facts.unreadable': ['the facts of a host could not be read', 'log in to the host and check it'],
  'host.sources-disagree': [
    'the GPU check finds GPUs that the facts of the host do not show',
    'run `nvidia-smi` and `lspci -d 10de:` on the host, then check again with --probe',
    {
      title: 'Facts and GPU check differ',
      severity: 'warn',
      when: 'the facts show no GPU or no loaded driver, and the GPU check lists GPUs',
    },
  ],
  'host.same-machine': [
    'two hosts of the inventory are one machine, or copies of one disk with the same machine-id',
    'remove one of them; give a copied machine a new machine-id',
  ],
  'host.other-machine': [
    'another machine answers than the one that was planned',
    'check address: and the host key, then run the command again',
  ],
  'host.not-provisioned': [
    'the host has no manager',
    'run `azp-fleet provision`',
    { title: 'Not provisioned' },
  ],
  'host.passed-through': [
    'vfio-pci keeps GPUs of the host for virtual machines; agents do not get them',
    'unbind them from vfio-pci if agents shall use them',
    { title: 'GPUs of virtual machines', severity: 'info' },
  ],
  'host.vgpu': [
    "the driver is of NVIDIA's vGPU software, and azp-fleet does not replace it",
    'upgrade the driver with the vGPU software of the hypervisor',
    { title: 'NVIDIA vGPU', severity: 'info' },
  ],
  'plan.drain-timeout': [
    'jobs still ran when the drain before a change timed out; nothing was changed',
    'run the command again when they have ended, or raise --drain-timeout',
  ],
  'plan.endless': ['the same changes are needed again and again', 'find what undoes them on the host'],
  'plan.facts-changed': ['the host has changed since the plan was saved', 'make a new plan'],
  'plan.file': ['a saved plan cannot be read or written', 'name another file, or make a new plan'],
  'plan.inventory-changed': ['the inventory has changed since the plan was saved', 'make a new plan'],
  'plan.no-effect': ['a change succeeded and is still needed', 'check the host, then run the command again'],
  'plan.not-announced': [
    'the remaining changes differ from the plan',
    'run the command again, and review the new plan',
  ],
  'plan.reboot-timeout': ['the host did not come back from its reboot', 'check its console'],
  'plan.refused': [
    'provision refuses to change the host; the message says why',
    'do what the message says, then run the command again',
  ],
  'plan.version': ['another version of azp-fleet saved the plan', 'make a new plan'],
  'toolkit.missing': [
    'nvidia-container-toolkit is not installed',
    'run `azp-fleet provision`',
    { title: 'Container toolkit is missing', dependsOn: ['docker.down'] },
  ],
  'wave.held': [
    'the run ended before the wave of this host',
    'do what the message says, then run the same command again',
  ],
  'wave.stopped': [
    'the waves stopped before this host because too many others failed',
    'fix the hosts that are named, then run the command again',
  ],
  'provision.left': [
    '`provision --only-harmless` left changes that disturb, or that come after one that does',
    'run `azp-fleet provision` when the hosts may be drained',
  ],
  'remove.agent-busy': [
    'Azure DevOps still counts a job as running on an agent that is to be removed',
    'run the command again after the time in the message, or with --wait',
  ],
  'remove.online': [
    'remove --gone found an agent of the host online: the machine is not gone',
    'remove the host with `azp-fleet remove HOST`, or stop the machine first',
  ],
  'upgrade.inventory': [
    'the inventory cannot be written after an upgrade',
    'correct its permissions or free disk space, then run the same command again',
  ],
  'upgrade.inventory-changed': [
    'the inventory was edited while an upgrade ran',
    'run the same command again: it reads the new text',
  ],
  'upgrade.left': [
    'an upgrade ended without success, and the host has another version than the inventory',
    'run the same command again, or go back as the message says',
  ],
  'upgrade.not-installed': [
    'upgrade found nothing to upgrade on the host',
    'run `azp-fleet provision` for the host first',
  ],
  'upgrade.record': [
    'the record of an upgrade cannot be written on this machine',
    'correct the permissions of the folder, or free disk space',
  ],
} as const;
