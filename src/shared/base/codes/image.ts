import type { Entries } from './entry.ts';

/** Agent images, registries, the Docker Engine. */
export const imageCodes = {
  'engine.build-failed': ['a build ended without its image', 'look at its last lines'],
  'engine.cdi-stale': ['the CDI specification does not know the GPU', 'write it anew with nvidia-ctk'],
  'engine.conflict': ['Docker has something of that name, or is at work on it', 'wait: it is tried again'],
  'engine.cuda-too-new': ['the image needs a newer CUDA than the driver has', 'older base, or newer driver'],
  'engine.disk-full': ['the disk of Docker is full', 'free space below its root directory'],
  'engine.driver-not-loaded': [
    'the driver is not loaded or does not match',
    'run nvidia-smi; reboot after an update',
  ],
  'engine.endpoint-left': [
    'Docker keeps the place in the network of a container that is gone',
    'wait: it is freed',
  ],
  'engine.failed': ['Docker failed, and says why', 'look at journalctl -u docker'],
  'engine.file-too-large': [
    'a file in a container is larger than is read',
    'look at what the image puts there',
  ],
  'engine.gpu-unknown': [
    'the GPU that a slot names is not there',
    'compare nvidia-smi -L with the inventory',
  ],
  'engine.no-gpu-driver': ['Docker cannot give containers a GPU', 'run azp-fleet provision'],
  'engine.no-folder': [
    'a folder of the host that a container is to have is not there',
    'mount or create it, or correct its path',
  ],
  'engine.no-sizes': [
    'the storage of Docker cannot hold containers to a size',
    'leave out limits.disk, or put its root directory on xfs with pquota',
  ],
  'engine.not-found': ['Docker has no such thing', 'wait: it is looked at again'],
  'engine.timeout': ['the Docker Engine did not answer in time', 'see systemctl status docker'],
  'engine.unreachable': ['the Docker Engine does not answer', 'see systemctl status docker'],
  'image.dockerfile': ['a folder cannot be built', 'correct its Dockerfile'],
  'image.failed': [
    'the agent image could not be made',
    'cure the cause; azp-fleet image build tries at once',
  ],
  'image.folder': ['a folder to build from cannot be used', 'correct dockerfile:, or the folder'],
  'image.lost': ['the manager was restarted while it made the image', 'run it again'],
  'image.no-base': ['no base image fits driver and GPUs', 'newer driver branch, or an image of your own'],
  'image.not-pushed': ['the host that builds the image has not pushed it', 'look at that host'],
  'image.not-ready': ['the agent image is not ready yet', 'wait: status shows how far it is'],
  'image.outdated': ['the server wants a newer agent than the image holds', 'raise agent.version'],
  'image.rejected': ['agents do not start on the newest image', 'look at the failed runs; provide another'],
  'registry.certificate': ['the certificate of the registry is not trusted', 'name its authority as ca:'],
  'registry.denied': ['the registry does not let the user have the image', 'grant it, or correct the name'],
  'registry.limit': ['the registry gives no more images for now', 'wait, or log in: registries:'],
  'registry.not-found': ['the registry has no such image', 'correct name and tag, or push it'],
  'registry.other-content': [
    'the registry gives something else than what a digest names',
    'ask who runs it, or what is between',
  ],
  'registry.password': ['the registry wants another password, or any', 'correct registries:, then provision'],
  'registry.plain-http': [
    'the registry speaks plain http',
    'give it a certificate, or allow it in daemon.json',
  ],
  'registry.unreachable': ['the host cannot reach the registry', 'try it there with curl'],
} as const satisfies Entries;
