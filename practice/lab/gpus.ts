import { createHash } from 'node:crypto';

/** A kind of GPU as the PCI bus and nvidia-smi name it. */
interface Model {
  readonly device: string;
  readonly name: string;
  readonly architecture: string;
  readonly cc: string;
  readonly memoryMiB: number;
  readonly powerW: number;
  readonly ecc: boolean;
}

const models = {
  h200: {
    device: '2335',
    name: 'NVIDIA H200',
    architecture: 'Hopper',
    cc: '9.0',
    memoryMiB: 143771,
    powerW: 700,
    ecc: true,
  },
  l40s: {
    device: '26b9',
    name: 'NVIDIA L40S',
    architecture: 'Ada Lovelace',
    cc: '8.9',
    memoryMiB: 46068,
    powerW: 350,
    ecc: true,
  },
  rtx4080: {
    device: '2702',
    name: 'NVIDIA GeForce RTX 4080 SUPER',
    architecture: 'Ada Lovelace',
    cc: '8.9',
    memoryMiB: 16376,
    powerW: 320,
    ecc: false,
  },
  v100: {
    device: '1db6',
    name: 'Tesla V100-PCIE-32GB',
    architecture: 'Volta',
    cc: '7.0',
    memoryMiB: 32768,
    powerW: 250,
    ecc: true,
  },
} as const satisfies Record<string, Model>;

export type GpuModel = keyof typeof models;

const buses = [
  '0000:18:00.0',
  '0000:3b:00.0',
  '0000:83:00.0',
  '0000:9a:00.0',
  '0000:af:00.0',
  '0000:c1:00.0',
  '0000:d8:00.0',
  '0000:e3:00.0',
];

/** On a host: a file for each GPU, and the files that make nvidia-smi fail or list processes. */
export const gpuFolders = { gpus: '/opt/lab/gpus', control: '/opt/lab/control' } as const;

export interface LabGpu {
  readonly bus: string;
  readonly uuid: string;
  readonly name: string;
}

/** The GPUs of one host: the same UUIDs for the same host name, always. */
export function gpusOf(
  host: string,
  kinds: readonly GpuModel[],
): readonly (LabGpu & { readonly line: string })[] {
  return kinds.map((kind, index) => {
    const model: Model = models[kind];
    const hash = createHash('sha256').update(`${host}/${index}`).digest('hex');
    const bus = buses[index] ?? '0000:f0:00.0';
    const uuid = `GPU-${hash.slice(0, 8)}-${hash.slice(8, 12)}-4${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
    const serial = String(Number.parseInt(hash.slice(0, 10), 16))
      .padStart(13, '1')
      .slice(0, 13);
    const { device, name, architecture, cc, memoryMiB, powerW, ecc } = model;
    const line = [
      bus,
      device,
      uuid,
      name,
      architecture,
      cc,
      memoryMiB,
      powerW,
      ecc ? 'yes' : 'no',
      serial,
    ].join('|');
    return { bus, uuid, name, line };
  });
}
