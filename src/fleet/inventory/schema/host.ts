import * as z from 'zod';

import { releaseLines } from '../../../shared/base/support-dates.ts';
import { defaultVersions, defaultWebhook } from './defaults.ts';
import {
  address,
  duration,
  durationFrom,
  environmentName,
  flag,
  hostPath,
  jump,
  label,
  loginName,
  name,
  repository,
  secretSource,
  section,
  sha256,
  shownName,
  size,
  text,
  threeNumbers,
  version,
  versionOrNone,
  wholeNumber,
} from './values.ts';

const oneGpu = 'a GPU: its index in PCI bus order (0, 1, …) or a UUID (GPU-… or MIG-…)';
/** A GPU of a slot. */
const gpu = z.union([z.int().min(0, oneGpu), z.string().regex(/^(GPU|MIG)-[0-9A-Za-z/-]+$/, oneGpu)], {
  error: oneGpu,
});

/** The agents whose digests are built in. */
const knownAgents = releaseLines
  .flatMap(({ part, version: release }) => (part === 'agent' && release !== undefined ? [release] : []))
  .join(' and ');

const gpuCount = wholeNumber(0, 64, 'a number of GPUs');
const displayCard =
  'a PCI address or a kind of card, as `lspci -Dnn -d 10de:` shows them, e.g. "0000:03:00.0" or "10de:128b"';
/** The GPUs of a host: the number, and the ignored cards. */
const gpus = z.union(
  [
    gpuCount,
    z.strictObject({
      count: gpuCount.optional().meta({ description: 'Expected GPUs, without the ignored ones' }),
      ignore: z
        .array(
          z
            .string({ error: displayCard })
            .regex(/^(10de:[\da-f]{4}|([\da-f]{4,8}:)?[\da-f]{2}:[\da-f]{2}\.[0-7])$/i, displayCard),
          { error: 'a list of display cards, e.g. ["10de:128b"]' },
        )
        .optional()
        .meta({ description: 'Display cards: no agent gets them, and no driver is chosen for them' }),
    }),
  ],
  { error: 'a number of GPUs (a whole number from 0 to 64), or e.g. { ignore: ["10de:128b"] }' },
);

/** The path of a program, without characters that have a meaning to systemd. */
const program = /^\/[\w./+-]+$/;

const runExpected = 'poweroff, or the absolute path of a program, e.g. /usr/local/sbin/deallocate';

/** At least five minutes: less would stop a machine before a user can log in. */
const idle = z
  .union(
    [
      z.literal('none'),
      z.strictObject({
        after: durationFrom('5m').meta({ description: 'Time without use, e.g. 30m' }),
        run: z
          .union(
            [
              z.literal('poweroff'),
              z
                .string({ error: runExpected })
                .refine((run) => program.test(run) && !run.includes('/../'), runExpected),
            ],
            { error: runExpected },
          )
          .optional()
          .meta({ description: 'poweroff (default), or your own program that stops the machine' }),
      }),
    ],
    { error: 'what stops an idle host, e.g. { after: 30m, run: poweroff }, or none' },
  )
  .meta({ id: 'idle' });

/** The NVIDIA driver and its source. */
const driver = z
  .union(
    [
      z.literal('none'),
      z.strictObject({
        branch: version(/^\d{3,4}$/, defaultVersions.driverBranch)
          .optional()
          .meta({ description: `Driver branch; default "${defaultVersions.driverBranch}" or newer` }),
        version: version(/^\d{3,4}\.\d+(\.\d+)?$/, '580.95.05')
          .optional()
          .meta({ description: 'Exact version; default: the newest of the branch' }),
        sha256: sha256.optional().meta({
          description:
            "sha256 of NVIDIA's .run file of that version, for method: runfile; built in for many versions",
        }),
        flavor: z
          .enum(['auto', 'open', 'proprietary'], { error: 'auto, open or proprietary' })
          .optional()
          .meta({ description: 'Kernel modules; auto (default) decides by the GPU' }),
        method: z
          .enum(['repo', 'distro', 'runfile', 'none'], { error: 'repo, distro, runfile or none' })
          .optional()
          .meta({
            description:
              "Source; repo (default): NVIDIA's package repository; distro: the distribution's packages, with its branch unless one is set; runfile: NVIDIA's .run file; none: unmanaged",
          }),
      }),
    ],
    { error: 'driver settings such as { branch: "580" }, or none to leave the driver alone' },
  )
  .meta({ id: 'driver' });

const limits = section('limits, e.g. { memory: 64g }', {
  memory: size
    .optional()
    .meta({ description: 'Memory of an agent, e.g. 64g; default: an equal part of the host’s' }),
  cpus: z
    .number({ error: 'a number of CPUs, e.g. 8 or 1.5' })
    .positive('a number of CPUs above 0')
    .optional()
    .meta({ description: 'CPUs of an agent on a busy host: a share, not a cap; default: an equal part' }),
  shm: size.optional().meta({ description: 'Size of /dev/shm, e.g. 16g' }),
  pids: wholeNumber(64, 4_194_304, 'a number of processes')
    .optional()
    .meta({ description: 'Maximum number of processes' }),
  disk: size.optional().meta({
    description:
      'Maximum size of what an agent’s container writes, e.g. 200g; needs a Docker storage driver with quotas',
  }),
}).meta({ id: 'limits' });

const driverCapabilities = z.array(
  z.enum(['compute', 'utility', 'graphics', 'video', 'display'], {
    error: 'compute, utility, graphics, video or display',
  }),
  { error: 'a list of driver capabilities' },
);

/** A pool name that Azure DevOps accepts, or a pattern, which may be longer than the name. */
const pool = shownName
  .max(256, 'a name of at most 256 characters')
  .regex(/^[^"*/:<>?\\|]*$/, 'a name that Azure DevOps accepts, without " * / : < > ? \\ and |')
  .regex(
    /^(?!azure pipelines$)/i,
    'your own pool: Azure Pipelines is the pool of machines hosted by Microsoft',
  );

const slot = section('a slot, e.g. { gpus: [0] }', {
  name: name.optional().meta({ description: 'Name of the slot; default: its position, from 0' }),
  gpus: z
    .array(gpu, { error: 'a list of GPUs' })
    .optional()
    .meta({ description: 'GPUs by index or UUID; [] is a slot without a GPU' }),
  share: flag.optional().meta({ description: 'Other slots may use the same GPUs' }),
  limits: limits.optional().meta({ description: 'Limits of this slot; override those of the host' }),
  capabilities: driverCapabilities
    .optional()
    .meta({ description: 'Driver capabilities of this slot; default: those of the host' }),
  mode: z.enum(['container', 'host'], { error: 'container or host' }).optional().meta({
    description: 'container (default): a fresh container for each job; host: directly on the host',
  }),
  pool: pool.optional().meta({ description: 'Agent pool of this slot; default: that of the host' }),
  image: text
    .optional()
    .meta({ description: 'Agent image of this slot from a registry; default: that of the host' }),
});

const someAgents = 'one-per-gpu, a number of agents (0 to 256), or a list of slots';
const agents = z
  .union(
    [
      z.literal('one-per-gpu'),
      z.int().min(0, someAgents).max(256, someAgents),
      z.array(slot).min(1, someAgents),
    ],
    { error: someAgents },
  )
  .meta({ id: 'agents' });

const volume = z
  .string({ error: 'host:container:ENV, e.g. /data/models:/models:MODELS' })
  .regex(/^\/[^:]*:\/[^:]*:[A-Z][A-Z0-9_]*$/, 'host:container:ENV, e.g. /data/models:/models:MODELS');

const dataset = section('a dataset, e.g. { host: /data/models, container: /models }', {
  host: hostPath.meta({ description: 'Folder on the host' }),
  container: hostPath.meta({ description: 'Where jobs see it, read-only' }),
  requireMount: flag
    .optional()
    .meta({ description: 'The folder must be a mount, so that an unmounted NFS share is noticed' }),
}).meta({ id: 'dataset' });

const hostKey = z
  .string({ error: 'a public key or fingerprint' })
  .regex(
    /^(SHA256:[A-Za-z0-9+/]{43}=?|(ssh|ecdsa|sk)-\S+ [A-Za-z0-9+/]+={0,2}( .*)?)$/,
    'a public key (ssh-ed25519 AAAA…) or a fingerprint (SHA256:…)',
  );

const agentProgram = section(`agent settings, e.g. { version: "${defaultVersions.agent}" }`, {
  version: version(threeNumbers, defaultVersions.agent)
    .optional()
    .meta({ description: `Default "${defaultVersions.agent}"` }),
  sha256: section('digests by architecture, e.g. { x64: … }', {
    x64: sha256.optional().meta({ description: 'Of the archive for x86-64' }),
    arm64: sha256.optional().meta({ description: 'Of the archive for ARM' }),
  })
    .optional()
    .meta({
      description: `Digest of the agent archive by architecture; built in for ${knownAgents}. Without one, each host keeps the digest of its first download over https`,
    }),
}).meta({ id: 'agentProgram' });

const someFolder = 'a folder with a Dockerfile, e.g. ./images/vision, or { folder, builder, push }';
const dockerfile = z
  .union(
    [
      text,
      z.strictObject({
        folder: text.meta({ description: 'Folder with the Dockerfile; relative to the inventory' }),
        builder: name
          .optional()
          .meta({ description: 'Host that builds the image once and pushes it for the others' }),
        push: repository
          .optional()
          .meta({ description: 'Where the builder pushes it, e.g. registry.lab.example/vision/agent' }),
      }),
    ],
    { error: someFolder },
  )
  .meta({ id: 'dockerfile' });

const someWebhook = 'a webhook, e.g. { url: { env: FLEET_WEBHOOK } }, or none';
const webhook = z
  .union(
    [
      z.literal('none'),
      z.strictObject({
        url: secretSource.meta({ description: 'Where its URL is found; the URL is a secret' }),
        offline: duration
          .optional()
          .meta({ description: `Report an agent that is offline longer; default ${defaultWebhook.offline}` }),
        queueWait: duration
          .optional()
          .meta({ description: `Report a job that waits longer; default ${defaultWebhook.queueWait}` }),
      }),
    ],
    { error: someWebhook },
  )
  .meta({ id: 'webhook' });

/** Keys of `defaults`, of a group's `vars` and of a host. */
const shared = {
  user: loginName.optional().meta({ description: 'Login user; default: from ssh_config' }),
  port: wholeNumber(1, 65_535, 'a port').optional().meta({ description: 'SSH port' }),
  identityFile: text.optional().meta({ description: 'Private key to log in with' }),
  jump: jump.optional().meta({
    description: 'Jump hosts as in ProxyJump, also hosts of this inventory: user@host:port,user@host',
  }),
  sshConfig: text.optional().meta({
    description: 'The ssh_config to read instead of ~/.ssh/config and /etc/ssh/ssh_config (ssh -F), or none',
  }),
  transport: z
    .enum(['builtin', 'openssh'], { error: 'builtin or openssh' })
    .optional()
    .meta({ description: 'openssh runs the system’s ssh: for certificates, FIDO keys and GSSAPI' }),
  hostKeys: z
    .array(hostKey, { error: 'a list of public keys or fingerprints' })
    .optional()
    .meta({ description: 'Host keys or SHA256 fingerprints; if set, no other key is accepted' }),
  hostKeyPolicy: z
    .enum(['accept-new', 'strict'], { error: 'accept-new or strict' })
    .optional()
    .meta({ description: 'What to do with a host that known_hosts does not list' }),
  sudoPassword: secretSource
    .optional()
    .meta({ description: 'Where the sudo password is found, if one is needed' }),
  loginPassword: secretSource
    .optional()
    .meta({ description: 'Where the login password is found, if one is needed' }),
  pool: pool.optional().meta({
    description:
      'Agent pool in Azure DevOps; created when missing. A pattern too: "{arch}-cuda{cuda}"; also {cudaMajor}, {generation}, {group}, {host}',
  }),
  agents: agents.optional().meta({ description: 'one-per-gpu (default), a number, or a list of slots' }),
  share: flag.optional().meta({ description: 'Agents may share GPUs' }),
  gpus: gpus.optional().meta({
    description: 'Expected GPUs; default: what PCI shows. Display-only cards are ignored',
  }),
  agentName: shownName.optional().meta({ description: 'Pattern of agent names; default {host}-{slot}' }),
  limits: limits.optional().meta({ description: 'Limits of each agent' }),
  driverCapabilities: driverCapabilities.optional().meta({
    description: 'Driver capabilities of agents; default [compute, utility]; graphics adds EGL and Vulkan',
  }),
  labels: z
    .record(name, label, { error: 'labels by name, e.g. { room: b12 }' })
    .optional()
    .meta({ description: 'For --limit, e.g. room=b12' }),
  capabilities: z
    .record(text, label, { error: 'capabilities by name, e.g. { team: vision }' })
    .optional()
    .meta({ description: 'User capabilities that pipelines can demand' }),
  driver: driver.optional().meta({ description: 'NVIDIA driver' }),
  docker: versionOrNone(defaultVersions.docker)
    .optional()
    .meta({ description: `Docker Engine; default version "${defaultVersions.docker}" or newer` }),
  toolkit: versionOrNone(defaultVersions.toolkit)
    .optional()
    .meta({ description: `nvidia-container-toolkit; default version "${defaultVersions.toolkit}" or newer` }),
  agent: agentProgram.optional().meta({ description: 'The Azure Pipelines agent' }),
  image: text.optional().meta({ description: 'Agent image from a registry; default: built on the host' }),
  dockerfile: dockerfile.optional().meta({
    description: 'Folder whose Dockerfile extends the built agent image: ARG BASE, FROM ${BASE}, …',
  }),
  baseImage: text
    .optional()
    .meta({ description: 'Base of the built image; default: chosen by driver and GPU' }),
  datasets: z
    .record(environmentName, dataset, {
      error: 'datasets by variable, e.g. { MODELS: { host: /data/models, container: /models } }',
    })
    .optional()
    .meta({ description: 'Read-only folders for jobs, by the environment variable that names them' }),
  volumes: z
    .array(volume, { error: 'a list of host:container:ENV' })
    .optional()
    .meta({ description: 'Datasets in short: host:container:ENV' }),
  jobs: section('what jobs may do, e.g. { sudo: true }', {
    sudo: flag.optional().meta({ description: 'Jobs may use sudo inside their container; default false' }),
    docker: flag
      .optional()
      .meta({ description: 'Jobs get the Docker socket, which is root on the host; default false' }),
  })
    .optional()
    .meta({ description: 'What jobs may do' }),
  network: z.enum(['best-effort', 'required'], { error: 'best-effort or required' }).optional().meta({
    description:
      'Isolates jobs from cloud metadata and from each other; required: no job starts without it; with managedIdentity always required',
  }),
  connectivityCheck: z.enum(['on', 'off'], { error: 'on or off' }).optional().meta({
    description:
      'Connects to the server of the organization every 30 s, to notice a lost connection; default on',
  }),
  webhook: webhook.optional().meta({
    description: 'Reports closed and reopened slots, offline agents and jobs that wait long',
  }),
  idle: idle.optional().meta({
    description: 'Stops a host that has been idle, for machines billed by the hour',
  }),
  registration: z
    .enum(['rest', 'config'], { error: 'rest or config' })
    .optional()
    .meta({ description: 'How agents register; config runs config.sh in a separate container' }),
};

export const hostVars = section('settings, e.g. { pool: gpu-lab }', shared).meta({ id: 'hostVars' });

export const hostEntry = section('settings such as { address: 192.0.2.11 }, or {}', {
  address: address
    .optional()
    .meta({ description: 'Host name or IP address; default: the name, resolved by ssh_config' }),
  ...shared,
}).nullable();

export type HostVars = z.infer<typeof hostVars>;
export type HostEntry = NonNullable<z.infer<typeof hostEntry>>;
