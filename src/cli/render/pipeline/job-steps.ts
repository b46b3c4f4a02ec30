import type { PipelineKind } from './choose.ts';
import type { Offer } from './offers.ts';

export interface PipelineStep {
  readonly checkout?: 'self';
  readonly script?: string;
  readonly displayName?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** What shows that the job has what it is for, and the place where a user's own work begins. */
export function stepsOf(kind: PipelineKind, able: readonly [Offer, ...Offer[]]): readonly PipelineStep[] {
  const names = datasetsOf(kind, able);
  const data = names.map((name) => `ls "$${name}"`).join('\n');
  const first = names[0] === undefined ? '' : `, with the data below $${names[0]}`;
  return [
    { checkout: 'self' },
    { script: 'nvidia-smi', displayName: 'GPUs of this job' },
    ...(data === '' ? [] : [{ script: data, displayName: 'Datasets (read-only)' }]),
    ...special[kind],
    {
      script: `echo "your own command here${first}"`,
      displayName: 'Test',
      ...(kind === 'graphics' ? { env: { PYOPENGL_PLATFORM: 'egl', MUJOCO_GL: 'egl' } } : {}),
    },
  ];
}

const special: Record<PipelineKind, readonly PipelineStep[]> = {
  gpu: [],
  matrix: [],
  container: [],
  image: [{ script: 'cat /etc/os-release', displayName: 'What the image is' }],
  graphics: [
    {
      script: "ldconfig -p | grep -E 'libEGL|libGLX|libvulkan'",
      displayName: 'Loaders of EGL, OpenGL and Vulkan',
    },
  ],
};

/** A matrix has only those that are everywhere; else the demands see to it that the first one's are there. */
function datasetsOf(kind: PipelineKind, [first, ...more]: readonly [Offer, ...Offer[]]): readonly string[] {
  const names = first.host.datasets.map(({ name }) => name);
  if (kind !== 'matrix') return names;
  return names.filter((name) => more.every(({ host }) => host.datasets.some((each) => each.name === name)));
}
