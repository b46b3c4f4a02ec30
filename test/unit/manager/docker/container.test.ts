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
const variable = (made: ReturnType<typeof options>, name: string): string | undefined =>
  made.Env?.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1);

describe('GPUs', () => {
  test('are asked for by UUID, and nothing renumbers them', () => {
    const made = options();
    expect(made.HostConfig?.DeviceRequests).toEqual([
      { Driver: 'nvidia', DeviceIDs: ['GPU-1'], Capabilities: [['compute', 'utility', 'gpu']] },
    ]);
    expect(variable(made, 'CUDA_VISIBLE_DEVICES')).toBeUndefined();
    expect(variable(made, 'NVIDIA_VISIBLE_DEVICES')).toBeUndefined();
  });
  test('come by CDI where the engine has it; the environment then asks for none', () => {
    const made = options({}, { gpuPath: 'cdi' });
    expect(made.HostConfig?.DeviceRequests).toEqual([{ Driver: 'cdi', DeviceIDs: ['nvidia.com/gpu=GPU-1'] }]);
    expect(variable(made, 'NVIDIA_VISIBLE_DEVICES')).toBe('void');
  });
  test('a slot without any gets none, also where nvidia is the default runtime', () => {
    const slots = [{ gpus: [], share: false, limits: {}, capabilities: [], mode: 'container' as const }];
    const made = options({ agents: { kind: 'slots', slots } });
    expect(made.HostConfig?.DeviceRequests).toEqual([]);
    expect(variable(made, 'NVIDIA_VISIBLE_DEVICES')).toBe('void');
  });
});

describe('what a job may do', () => {
  test('by default: no new privileges, no capabilities, no Docker', () => {
    const { HostConfig } = options();
    expect(HostConfig).toMatchObject({ SecurityOpt: ['no-new-privileges'], CapDrop: ['ALL'], Mounts: [] });
    expect(HostConfig?.Privileged).toBeUndefined();
    expect(HostConfig?.NetworkMode).toBe('azp-fleet');
  });
  test('sudo inside takes the bolts away', () => {
    expect(options({ jobs: { sudo: true, docker: false } }).HostConfig?.SecurityOpt).toBeUndefined();
  });
  test('Docker only where it was opted for, by the group of its socket', () => {
    const { HostConfig } = options({ jobs: { sudo: false, docker: true } }, { dockerGid: 998 });
    expect(HostConfig).toMatchObject({
      Mounts: [{ Type: 'bind', Source: '/var/run/docker.sock', Target: '/var/run/docker.sock' }],
      GroupAdd: ['998'],
    });
  });
});

test('ends are orderly and leave evidence', () => {
  const made = options();
  expect(made.StopTimeout).toBeGreaterThan(90);
  expect(made.HostConfig).toMatchObject({ AutoRemove: false, LogConfig: { Type: 'json-file' } });
  expect(made.HostConfig?.RestartPolicy).toBeUndefined();
});

test.each([
  ['an image that is built here', builtImage('x64')],
  ['an image of the user', { kind: 'registry' as const, reference: 'me/agent:1' }],
])('%s is stopped by SIGINT, which ends the session of either version of the agent', (_, image) => {
  expect(options({ image }).StopSignal).toBe('SIGINT');
});

test("a user's image need not know how the agent is started, and by whom", () => {
  const made = options({ image: { kind: 'registry', reference: 'me/agent:1' } });
  expect(made).toMatchObject({ User: '59000:4000', WorkingDir: '/azp', Cmd: [], HostConfig: { Init: true } });
  expect(options({ image: builtImage('x64') })).not.toHaveProperty('Entrypoint');
  const top = { name: 'vision', folder: 'f'.repeat(64) };
  expect(options({ image: { ...builtImage('x64'), top } })).toMatchObject({ User: '59000:4000', Cmd: [] });
});

test.each([
  ['an image that is built here', builtImage('x64')],
  ['an image of the user', { kind: 'registry' as const, reference: 'me/agent:1' }],
])('the agent in %s speaks English, and that is no capability', (_, image) => {
  const made = options({ image });
  expect([variable(made, 'LANG'), variable(made, 'LC_ALL')]).toEqual(['C.UTF-8', 'C.UTF-8']);
  expect(variable(made, 'VSO_AGENT_IGNORE')?.split(',')).toEqual(expect.arrayContaining(['LANG', 'LC_ALL']));
});

test('out of memory kills the job before the agent that reports it', () => {
  const made = options();
  expect(made.HostConfig?.OomScoreAdj).toBe(500);
  expect(variable(made, 'PIPELINE_JOB_OOMSCOREADJ')).toBe('1000');
});

test('limits are what the slot says; memory includes swap', () => {
  const limits = { memory: '64g', shm: '8g', pids: 100, disk: '200g' };
  expect(options({ limits }).HostConfig).toMatchObject({
    Memory: 64 * 1024 ** 3,
    MemorySwap: 64 * 1024 ** 3,
    StorageOpt: { size: String(200 * 1024 ** 3) },
    ShmSize: 8 * 1024 ** 3,
    PidsLimit: 100,
  });
});

test('every dataset is mounted read-only and named by its variable, which the agent shows as a capability', () => {
  const made = options({
    datasets: [
      { name: 'IMAGENET', host: '/data/i', container: '/datasets/i', requireMount: true },
      { name: 'MODELS', host: '/data/m', container: '/models', requireMount: false },
    ],
  });
  const BindOptions = { Propagation: 'rprivate', ReadOnlyForceRecursive: true };
  expect(made.HostConfig?.Binds).toBeUndefined();
  expect(made.HostConfig?.Mounts).toEqual([
    { Type: 'bind', Source: '/data/i', Target: '/datasets/i', ReadOnly: true, BindOptions },
    { Type: 'bind', Source: '/data/m', Target: '/models', ReadOnly: true, BindOptions },
  ]);
  expect(variable(made, 'IMAGENET')).toBe('/datasets/i');
  expect(variable(made, 'VSO_AGENT_IGNORE')?.split(',')).not.toContain('IMAGENET');
});

test("a proxy and the site's certificates reach jobs and the agent, and are no capabilities", () => {
  const proxy = { https: 'http://proxy:3128', noProxy: ['.lab.example', '10.0.0.1'], ca: true };
  const made = options({ proxy });
  expect(variable(made, 'https_proxy')).toBe('http://proxy:3128');
  for (const name of ['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS', 'GIT_SSL_CAINFO', 'REQUESTS_CA_BUNDLE']) {
    expect(variable(made, name), name).toBe('/azp/ca-bundle.pem');
    expect(variable(made, 'VSO_AGENT_IGNORE')?.split(',')).toContain(name);
  }
  expect(variable(made, 'VSO_AGENT_IGNORE')?.split(',')).toContain('https_proxy');
  expect(variable(options({}), 'GIT_SSL_CAINFO')).toBeUndefined();
});
