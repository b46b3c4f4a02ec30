import type { Finding } from './verdict.ts';

/** The NVLinks of one GPU as `nvidia-smi nvlink --status` lists them. */
export interface GpuLinks {
  readonly uuid: string;
  /** Product name. */
  readonly name: string;
  /** `none`: the GPU has no NVLink, or is divided by MIG. `all-inactive`: nvidia-smi does not list the links then. */
  readonly kind: 'none' | 'listed' | 'all-inactive' | 'unknown';
  readonly active: number;
  /** Numbers of the inactive links. */
  readonly inactive: readonly number[];
  /** With `unknown`: the line that is not understood. */
  readonly why?: string;
}

const header = /^GPU \d{1,4}: (?<name>.{1,100}?) \(UUID: (?<uuid>GPU-[\da-f-]{1,60})\)\s*$/i;
const link = /^\s*Link (?<number>\d{1,3}): (?:(?<rate>\d[\d.]* [KMGT]B\/s)|(?<inactive><inactive>))\s*$/;

/** More GPUs than a host has. */
const mostGpus = 128;

/** Parses the output of `nvidia-smi nvlink --status`, also of drivers without that command: then no GPU is listed. Pure. */
export function readNvlinks(output: string): readonly GpuLinks[] {
  const gpus: GpuLinks[] = [];
  for (const line of output.split('\n')) {
    const { name, uuid } = header.exec(line)?.groups ?? {};
    const current = gpus.at(-1);
    if (name !== undefined && uuid !== undefined) {
      if (gpus.length === mostGpus) break;
      gpus.push({ uuid, name, kind: 'none', active: 0, inactive: [] });
    } else if (current !== undefined && line.trim() !== '') gpus[gpus.length - 1] = withLine(current, line);
  }
  return gpus;
}

function withLine(gpu: GpuLinks, line: string): GpuLinks {
  const { number, rate } = link.exec(line)?.groups ?? {};
  if (number !== undefined && gpu.kind !== 'unknown')
    return rate === undefined
      ? { ...gpu, kind: 'listed', inactive: [...gpu.inactive, Number(number)] }
      : { ...gpu, kind: 'listed', active: gpu.active + 1 };
  if (/all links are inactive/i.test(line)) return { ...gpu, kind: 'all-inactive' };
  if (/does not have or support nvlink|not supported for devices in mig mode/i.test(line)) return gpu;
  return { ...gpu, kind: 'unknown', why: line.trim().slice(0, 100) };
}

/**
 * True for a GPU whose NVLinks are wired on its board. Other cards have links only with a bridge, which few have: nvidia-smi prints
 * the same for a card without a bridge and for one whose links all failed.
 */
export function isWired(name: string): boolean {
  if (/PCIe|\bNVL\b/i.test(name)) return false;
  return /SXM|HBM3|\b(?:H20|H200|H800|B200|B300|GB200|GB300)\b/.test(name);
}

const next =
  'check the fabric manager (`systemctl status nvidia-fabricmanager`) and `journalctl -k | grep NVRM`; drain and reboot the host; if the links stay inactive, check the board';

/**
 * Finds inactive NVLinks. On a board, a GPU with fewer active links than another GPU of its model, or a host in which no GPU of a model
 * has an active one, is degraded. Where all GPUs have equally many, a virtual machine may lack the other ends. Pure.
 */
export function checkNvlinks(gpus: readonly GpuLinks[]): readonly Finding[] {
  return gpus.flatMap((gpu): readonly Finding[] => {
    if (gpu.kind === 'none') return [];
    if (gpu.kind === 'unknown') return [unknownLinks(`nvidia-smi prints "${gpu.why}"`, gpu.uuid)];
    const same = gpus.filter(({ name, kind }) => name === gpu.name && kind !== 'none' && kind !== 'unknown');
    const most = Math.max(...same.map(({ active }) => active));
    const what = inactiveText(gpu);
    const found = (severity: Finding['severity'], more: string): readonly Finding[] => [
      { code: 'gpu.nvlink-inactive', gpu: gpu.uuid, severity, what: `${what}${more}`, next },
    ];
    if (isWired(gpu.name) && gpu.active < most)
      return found('warn', `; another ${gpu.name} of this host has ${most} active`);
    if (isWired(gpu.name) && most === 0 && same.length > 1)
      return found('warn', ', and so are those of the other GPUs');
    return gpu.active > 0 && gpu.inactive.length > 0 ? found('info', '') : [];
  });
}

function inactiveText({ active, inactive }: GpuLinks): string {
  if (active === 0) return 'all its NVLinks are inactive';
  const all = active + inactive.length;
  return inactive.length === 0
    ? `${active} of its NVLinks are active`
    : `NVLink ${inactive.join(', ')} of ${all} ${inactive.length === 1 ? 'is' : 'are'} inactive`;
}

/** Reports NVLinks that could not be read. `gpu` undefined: those of all GPUs. */
export function unknownLinks(why: string, gpu?: string): Finding {
  return {
    code: 'gpu.nvlink-unknown',
    ...(gpu === undefined ? {} : { gpu }),
    severity: 'info',
    what: `whether its NVLinks are active is unknown: ${why}`,
    next: 'run `nvidia-smi nvlink --status` on the host',
  };
}
