import { describe, expect, test } from 'vitest';
import { containerOptions, type Recipe } from '../../../../src/manager/docker/container.ts';
import { SizeLimits } from '../../../../src/manager/docker/engine-abilities.ts';
import { resolveSlots } from '../../../../src/manager/slots/resolve.ts';
import { builtImage } from '../../../../src/shared/contract/agent-release.ts';
import type { ManagerConfig } from '../../../../src/shared/contract/config.ts';
import { config } from '../../../support/manager-config.ts';

function options(changes: Partial<ManagerConfig> = {}, recipe: Partial<Recipe> = {}) {
  const whole = config({ agents: { kind: 'one-per-gpu' }, ...changes });
  const [slot] = resolveSlots(whole, [{ busId: '0000:01:00.0', uuid: 'GPU-1' }]);
  if (slot === undefined) throw new Error('no slot');
  return containerOptions({
    config: whole,
    slot,
    run: 'r1',
    image: 'sha256:1',
    settings: 's',
    agentId: 5,
    poolId: 2,
    gpuPath: 'nvidia',
    dockerGid: undefined,
    readOnlyBelow: true,
    sizes: new SizeLimits({ driver: 'overlay2', byContainerd: false }),
    ...recipe,
  });
}
const variable = (created: ReturnType<typeof options>, name: string): string | undefined =>
  created.Env?.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1);

describe('GPUs', () => {
  test('are requested by UUID, and keep their numbers', () => {
    const created = options();
    expect(created.HostConfig?.DeviceRequests).toEqual([
      { Driver: 'nvidia', DeviceIDs: ['GPU-1'], Capabilities: [['compute', 'utility', 'gpu']] },
    ]);
    expect(variable(created, 'CUDA_VISIBLE_DEVICES')).toBeUndefined();
    expect(variable(created, 'NVIDIA_VISIBLE_DEVICES')).toBeUndefined();
  });
  test('use CDI where the engine has it, without a request in the environment', () => {
    const created = options({}, { gpuPath: 'cdi' });
    expect(created.HostConfig?.DeviceRequests).toEqual([
      { Driver: 'cdi', DeviceIDs: ['nvidia.com/gpu=GPU-1'] },
    ]);
    expect(variable(created, 'NVIDIA_VISIBLE_DEVICES')).toBe('void');
  });
  test('a slot without GPUs gets none, also with nvidia as the default runtime', () => {
    const slots = [{ gpus: [], share: false, limits: {}, capabilities: [], mode: 'container' as const }];
    const created = options({ agents: { kind: 'slots', slots } });
    expect(created.HostConfig?.DeviceRequests).toEqual([]);
    expect(variable(created, 'NVIDIA_VISIBLE_DEVICES')).toBe('void');
  });
});

describe('what a job may do', () => {
  test('by default: no new privileges, no capabilities, no Docker', () => {
    const { HostConfig } = options();
    expect(HostConfig).toMatchObject({ SecurityOpt: ['no-new-privileges'], CapDrop: ['ALL'], Mounts: [] });
    expect(HostConfig?.Privileged).toBeUndefined();
    expect(HostConfig?.NetworkMode).toBe('azp-fleet');
  });
  test('sudo needs privileges and capabilities', () => {
    expect(options({ jobs: { sudo: true, docker: false } }).HostConfig?.SecurityOpt).toBeUndefined();
  });
  test('Docker only if configured, by the group of its socket', () => {
    const { HostConfig } = options({ jobs: { sudo: false, docker: true } }, { dockerGid: 998 });
    expect(HostConfig).toMatchObject({
      Mounts: [{ Type: 'bind', Source: '/var/run/docker.sock', Target: '/var/run/docker.sock' }],
      GroupAdd: ['998'],
    });
  });
});

test('a stop has time to finish, and the run record survives', () => {
  const created = options();
  expect(created.StopTimeout).toBeGreaterThan(90);
  expect(created.HostConfig).toMatchObject({ AutoRemove: false, LogConfig: { Type: 'json-file' } });
  expect(created.HostConfig?.RestartPolicy).toBeUndefined();
});

test.each([
  ['an image that azp-fleet builds', builtImage('x64')],
  ["a user's image", { kind: 'registry' as const, reference: 'me/agent:1' }],
])('%s is stopped by SIGINT, which ends the session of both agent versions', (_, image) => {
  expect(options({ image }).StopSignal).toBe('SIGINT');
});

test("a user's image gets the agent's entry point and user", () => {
  const created = options({ image: { kind: 'registry', reference: 'me/agent:1' } });
  expect(created).toMatchObject({
    User: '59000:4000',
    WorkingDir: '/azp',
    Cmd: [],
    HostConfig: { Init: true },
  });
  expect(options({ image: builtImage('x64') })).not.toHaveProperty('Entrypoint');
  const top = { name: 'vision', folder: 'f'.repeat(64) };
  expect(options({ image: { ...builtImage('x64'), top } })).toMatchObject({ User: '59000:4000', Cmd: [] });
});

test.each([
  ['an image that azp-fleet builds', builtImage('x64')],
  ["a user's image", { kind: 'registry' as const, reference: 'me/agent:1' }],
])('the agent in %s prints English, and its locale is no capability', (_, image) => {
  const created = options({ image });
  expect([variable(created, 'LANG'), variable(created, 'LC_ALL')]).toEqual(['C.UTF-8', 'C.UTF-8']);
  expect(variable(created, 'VSO_AGENT_IGNORE')?.split(',')).toEqual(
    expect.arrayContaining(['LANG', 'LC_ALL']),
  );
});

test('out of memory kills the job before the agent that reports it', () => {
  const created = options();
  expect(created.HostConfig?.OomScoreAdj).toBe(500);
  expect(variable(created, 'PIPELINE_JOB_OOMSCOREADJ')).toBe('1000');
});

test('limits are those of the slot; memory includes swap', () => {
  const limits = { memory: '64g', shm: '8g', pids: 100, disk: '200g' };
  expect(options({ limits }).HostConfig).toMatchObject({
    Memory: 64 * 1024 ** 3,
    MemorySwap: 64 * 1024 ** 3,
    StorageOpt: { size: String(200 * 1024 ** 3) },
    ShmSize: 8 * 1024 ** 3,
    PidsLimit: 100,
  });
});

test('each dataset is mounted read-only, and its variable is a capability of the agent', () => {
  const created = options({
    datasets: [
      { name: 'IMAGENET', host: '/data/i', container: '/datasets/i', requireMount: true },
      { name: 'MODELS', host: '/data/m', container: '/models', requireMount: false },
    ],
  });
  const BindOptions = { Propagation: 'rprivate', ReadOnlyForceRecursive: true };
  expect(created.HostConfig?.Binds).toBeUndefined();
  expect(created.HostConfig?.Mounts).toEqual([
    { Type: 'bind', Source: '/data/i', Target: '/datasets/i', ReadOnly: true, BindOptions },
    { Type: 'bind', Source: '/data/m', Target: '/models', ReadOnly: true, BindOptions },
  ]);
  expect(variable(created, 'IMAGENET')).toBe('/datasets/i');
  expect(variable(created, 'VSO_AGENT_IGNORE')?.split(',')).not.toContain('IMAGENET');
});

test("jobs and the agent get the proxy and the site's certificates, which are no capabilities", () => {
  const proxy = { https: 'http://proxy:3128', noProxy: ['.lab.example', '10.0.0.1'], ca: true };
  const created = options({ proxy });
  expect(variable(created, 'https_proxy')).toBe('http://proxy:3128');
  for (const name of ['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS', 'GIT_SSL_CAINFO', 'REQUESTS_CA_BUNDLE']) {
    expect(variable(created, name), name).toBe('/azp/ca-bundle.pem');
    expect(variable(created, 'VSO_AGENT_IGNORE')?.split(',')).toContain(name);
  }
  expect(variable(created, 'VSO_AGENT_IGNORE')?.split(',')).toContain('https_proxy');
  expect(variable(options({}), 'GIT_SSL_CAINFO')).toBeUndefined();
});
