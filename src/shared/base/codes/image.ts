import { dockerFaults, driverFaults } from './entry.ts';

/** Agent images, registries, the Docker Engine. */
export const imageCodes = {
  'engine.build-failed': ['an image build failed', 'check its last lines of output'],
  'engine.cdi-stale': [
    'the CDI specification does not list the GPU',
    'run `systemctl restart nvidia-cdi-refresh.service` on the host',
    { title: 'CDI specification is stale', dependsOn: [...driverFaults, 'toolkit.missing'] },
  ],
  'engine.conflict': [
    'Docker has an object of that name, or is already working on it',
    'rename or remove the other object, or wait: retried automatically',
  ],
  'engine.cuda-too-new': [
    'the image needs a newer CUDA than the driver supports',
    'use an older base image, or a newer driver',
    { kind: 'permanent' },
  ],
  'engine.disk-full': ['the disk of Docker is full', 'free space below its root directory'],
  'engine.driver-not-loaded': [
    'the driver is not loaded, or its libraries have another version',
    'run `nvidia-smi` on the host; reboot it after an update',
    { title: 'Docker finds no driver', dependsOn: driverFaults },
  ],
  'engine.endpoint-left': [
    'Docker keeps the network endpoint of a container that no longer exists',
    'retried automatically: the manager frees it',
  ],
  'engine.failed': [
    'Docker failed; the message quotes why',
    'check `journalctl -u docker` on the host',
    { title: 'Docker failed', dependsOn: ['docker.down'] },
  ],
  'engine.file-too-large': [
    'a file in a container is larger than the manager reads',
    'check what the image puts at that path',
  ],
  'engine.gpu-unknown': [
    'the host does not have a GPU that a slot names',
    'compare `nvidia-smi -L` with the inventory',
    { title: 'Docker does not know a GPU', dependsOn: driverFaults },
  ],
  'engine.no-gpu-driver': [
    'Docker cannot give GPUs to containers',
    'run `azp-fleet provision`',
    {
      title: 'Docker cannot use GPUs',
      dependsOn: ['docker.down', 'driver.not-loaded', 'toolkit.missing'],
      kind: 'permanent',
    },
  ],
  'engine.no-folder': [
    'a folder of the host that a container mounts does not exist',
    'mount or create it, or correct its path',
  ],
  'engine.no-image': [
    'Docker no longer has the image that a container is to be created from',
    'wait: the manager gets it again; find what removes images',
  ],
  'engine.no-sizes': [
    'the storage of Docker cannot limit the size of containers',
    'remove limits.disk, or put the root directory of Docker on xfs with pquota',
  ],
  'engine.not-found': ['Docker has no object of that name', 'retried automatically'],
  'engine.timeout': [
    'the Docker Engine did not answer in time',
    'check `systemctl status docker` on the host',
    { lastsForS: 60, title: 'Docker does not answer in time', dependsOn: ['docker.down'] },
  ],
  'engine.unreachable': [
    'the Docker Engine does not answer',
    'check `systemctl status docker` on the host',
    { lastsForS: 60, title: 'Docker does not answer', dependsOn: ['docker.down'] },
  ],
  'image.dockerfile': ['a Dockerfile cannot be built', 'correct the Dockerfile'],
  'image.failed': [
    'the agent image could not be built or pulled',
    'fix the cause; `azp-fleet image build HOST` tries again at once',
    { title: 'Image failed', dependsOn: [...dockerFaults, 'disk.full'] },
  ],
  'image.folder': ['a build folder is missing or not usable', 'correct dockerfile:, or the folder'],
  'image.lost': ['the manager restarted while it built the image', 'run `azp-fleet image build HOST` again'],
  'image.no-base': ['no base image fits the driver and GPUs', 'use a newer driver branch, or your own image'],
  'image.not-pushed': [
    'the host that builds the image has not pushed it yet',
    'check the image state of that host',
  ],
  'image.not-ready': [
    'the agent image is not ready yet',
    'wait for it',
    {
      title: 'Image is not ready',
      severity: 'warn',
      dependsOn: [...dockerFaults, 'disk.full'],
      kind: 'startup',
    },
  ],
  'image.outdated': [
    'Azure DevOps requires a newer agent than the image contains',
    'raise agent.version',
    { title: 'Agent in the image is too old', kind: 'permanent' },
  ],
  'image.rejected': [
    'agents do not start with the newest image',
    'check the failed runs; provide another image',
    { kind: 'permanent' },
  ],
  'registry.certificate': [
    'the certificate of the registry is not signed by a trusted authority',
    'set ca: to the certificate of the authority',
  ],
  'registry.denied': [
    'the registry denies the user access to the image',
    'grant access, or correct the name',
  ],
  'registry.limit': ['the rate limit of the registry is reached', 'wait, or log in with registries:'],
  'registry.not-found': ['the registry does not have the image', 'correct name and tag, or push the image'],
  'registry.other-content': [
    'the content from the registry does not match its digest',
    'ask the operator of the registry, or check proxies on the network path',
  ],
  'registry.password': [
    'the registry rejected the login, or requires one',
    'correct registries:, then run `azp-fleet provision`',
  ],
  'registry.plain-http': [
    'the registry uses plain http',
    'give it a certificate, or allow it in daemon.json',
  ],
  'registry.unreachable': [
    'the host cannot reach the registry',
    'run `curl` against the registry on the host',
  ],
} as const;
