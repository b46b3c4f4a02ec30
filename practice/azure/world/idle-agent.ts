import { randomBytes } from 'node:crypto';
import { hostedAgent } from './new-organization.ts';
import type { FakeAgent } from './state.ts';

const version = '4.275.0';

/** The driver requirement of NVIDIA's images; agents report it like every variable. */
const requirements = ['tesla', 'unknown', 'nvidia', 'nvidiartx', 'geforce', 'quadro', 'titan']
  .flatMap((brand) => [470, 525, 535].map((from) => `brand=${brand},driver>=${from},driver<${from + 1}`))
  .join(' ');

/** Versions of libraries as such an image has them in variables, development packages included. */
const libraries = ['CUBLAS', 'CUSPARSE', 'CUFFT', 'CURAND', 'CUSOLVER', 'NPP', 'NCCL', 'NVJPEG'].flatMap(
  (name): (readonly [string, string])[] => [
    [`NV_LIB${name}_VERSION`, '12.4.5.8-1'],
    [`NV_LIB${name}_PACKAGE_NAME`, `lib${name.toLowerCase()}-12-4`],
    [`NV_LIB${name}_PACKAGE`, `lib${name.toLowerCase()}-12-4=12.4.5.8-1`],
    [`NV_LIB${name}_DEV_VERSION`, '12.4.5.8-1'],
    [`NV_LIB${name}_DEV_PACKAGE`, `lib${name.toLowerCase()}-dev-12-4=12.4.5.8-1`],
  ],
);

/** The same for every agent: an image's variables and tools, about as many as a real one reports. */
const ofTheImage: Readonly<Record<string, string>> = {
  'Agent.OS': 'Linux',
  'Agent.OSArchitecture': 'X64',
  'Agent.OSVersion': '6.8.0',
  'Agent.Version': version,
  InteractiveSession: 'False',
  AGENT_ALLOW_RUNASROOT: '0',
  CUDA_VERSION: '12.4.1',
  DOTNET_RUNNING_IN_CONTAINER: 'true',
  HOME: '/home/agent',
  LANG: 'C.UTF-8',
  LC_ALL: 'C.UTF-8',
  LD_LIBRARY_PATH: '/usr/local/nvidia/lib:/usr/local/nvidia/lib64:/usr/local/cuda/lib64',
  LIBRARY_PATH: '/usr/local/cuda/lib64/stubs',
  NCCL_VERSION: '2.21.5-1',
  NVARCH: 'x86_64',
  NVIDIA_DRIVER_CAPABILITIES: 'compute,utility',
  NVIDIA_PRODUCT_NAME: 'CUDA',
  NVIDIA_REQUIRE_CUDA: `cuda>=12.4 ${requirements}`,
  NV_CUDA_COMPAT_PACKAGE: 'cuda-compat-12-4',
  NV_CUDA_CUDART_VERSION: '12.4.127-1',
  NV_CUDA_LIB_VERSION: '12.4.1-1',
  ...Object.fromEntries(libraries),
  NV_NVTX_VERSION: '12.4.127-1',
  PATH: '/usr/local/nvidia/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  PWD: '/azp',
  SHLVL: '1',
  TZ: 'Etc/UTC',
  bash: '/usr/bin/bash',
  cmake: '/usr/bin/cmake',
  curl: '/usr/bin/curl',
  g__: '/usr/bin/g++',
  gcc: '/usr/bin/gcc',
  git: '/usr/bin/git',
  'git-lfs': '/usr/bin/git-lfs',
  java: '/usr/bin/java',
  make: '/usr/bin/make',
  ninja: '/usr/bin/ninja',
  nvcc: '/usr/local/cuda/bin/nvcc',
  'nvidia-smi': '/usr/bin/nvidia-smi',
  perl: '/usr/bin/perl',
  pip: '/usr/bin/pip',
  python: '/usr/bin/python3',
  python3: '/usr/bin/python3',
  sh: '/bin/sh',
};

/** Returns a registered agent without a process: of the size at which the service lists one with a GPU (about 5.3 KiB). */
export function idleAgent(
  id: number,
  poolId: number,
  name: string,
  { baseUrl, now }: { readonly baseUrl: string; readonly now: number },
): FakeAgent {
  const uuid = crypto.randomUUID();
  return {
    ...hostedAgent(now),
    id,
    poolId,
    name,
    version,
    baseUrl,
    osDescription: 'Linux 6.8.0-45-generic #45-Ubuntu SMP PREEMPT_DYNAMIC',
    provisioningState: 'Provisioned',
    publicKey: { exponent: 'AQAB', modulus: randomBytes(256).toString('base64') },
    systemCapabilities: {
      'Agent.ComputerName': name,
      'Agent.HomeDirectory': `/var/lib/azp/${name}`,
      'Agent.Name': name,
      HOSTNAME: name,
      NVIDIA_VISIBLE_DEVICES: `GPU-${uuid}`,
      ...ofTheImage,
    },
    userCapabilities: {
      'azp-fleet.host': name,
      'cuda.driverMax': '12.4',
      'driver.version': '550.163.01',
      'gpu.computeCapability': '8.0',
      'gpu.count': '1',
      'gpu.memoryMiB': '81920',
      'gpu.model': 'NVIDIA A100-SXM4-80GB',
      'gpu.uuid': `GPU-${uuid}`,
    },
  };
}
