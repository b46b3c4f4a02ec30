import { addListing, gpusIn, type SmiReport, withVersions } from '../../shared/health/smi-report.ts';
import type { XmlElement } from '../../shared/health/xml.ts';

/** What `nvidia-smi` or `nvidia-smi -q` printed for people. */
export interface SmiText {
  /** Undefined: process names and text of the driver cannot be distinguished; `doubt` says why. */
  readonly report: SmiReport | undefined;
  readonly doubt?: string;
  /** GPUs of the host, where the text has their number. */
  readonly attached?: number;
  /** Text before the first GPU: messages of nvidia-smi. */
  readonly before: string;
}

interface Node extends XmlElement {
  readonly children: Node[];
}

const queryHeader = /^=+NVSMI LOG=+$/m;
const gpuHeader = /^GPU (?<bus>[\dA-Fa-f]{4,8}:[\dA-Fa-f]{2}:[\dA-Fa-f]{2}\.\d)$/;
/** Lines of the driver have fewer characters. */
const longestLine = 500;

export function hasSmiQuery(text: string): boolean {
  return queryHeader.test(text);
}

/**
 * Reads the first `nvidia-smi -q` in a text. A process name may contain lines that look like any other: nothing after `Processes`
 * counts up to the next GPU, and the report counts only if it has as many GPUs as it announces, each with at most one list of
 * processes. Pure.
 */
export function readSmiQuery(text: string): SmiText {
  const start = queryHeader.exec(text)?.index ?? text.length;
  const before = text.slice(0, start);
  const root = node('nvidia_smi_log', '');
  let stack: readonly Node[] = [root];
  let processes = 0;
  for (const raw of text.slice(start).split('\n')) {
    const line = raw.slice(0, longestLine).trimEnd();
    const bus = gpuHeader.exec(line)?.groups?.['bus'];
    if (bus !== undefined) {
      const gpu = node('gpu', '', { id: bus });
      root.children.push(gpu);
      stack = [root, gpu];
      continue;
    }
    if (/^ {4}Processes\b/.test(line)) {
      processes += 1;
      stack = [];
    }
    stack = grown(stack, line);
  }
  const gpus = root.children.filter(({ name }) => name === 'gpu');
  for (const gpu of gpus) asXml(gpu);
  const attached = Number(root.children.find(({ name }) => name === 'attached_gpus')?.text ?? Number.NaN);
  const doubt = doubtAbout(
    gpus.map(({ attributes }) => attributes['id'] ?? ''),
    attached,
    processes,
  );
  return {
    before,
    ...(Number.isNaN(attached) ? {} : { attached }),
    ...(doubt === undefined
      ? { report: withVersions(root, addListing(gpusIn(root), '')) }
      : { report: undefined, doubt }),
  };
}

function doubtAbout(gpus: readonly string[], attached: number, processes: number): string | undefined {
  if (gpus.length > 1 && gpus.length !== attached) return `it lists ${gpus.length} of ${attached} GPUs`;
  if (processes > 0 && processes !== gpus.length) return 'it does not have one process section for each GPU';
  return new Set(gpus).size === gpus.length ? undefined : 'it lists a GPU twice';
}

function node(name: string, text: string, attributes: Record<string, string> = {}): Node {
  return { name, text, attributes, children: [] };
}

/** Adds `    Key  : value` to the section that its indentation belongs to; returns the open sections. */
function grown(stack: readonly Node[], line: string): readonly Node[] {
  const {
    indent = '',
    key = '',
    value = '',
  } = /^(?<indent> *)(?<key>\S.*?)\s*(?: : ?(?<value>.*))?$/.exec(line)?.groups ?? {};
  // Top level: the version, the number of GPUs. Four spaces for each level below a GPU.
  const depth = stack.length > 1 || indent !== '' ? indent.length / 4 + 1 : 1;
  const parent = stack[depth - 1];
  if (parent === undefined || key === '' || depth > 8) return stack;
  const added = node(key.toLowerCase().replaceAll(/[^a-z\d]+/g, '_'), value.trim());
  parent.children.push(added);
  return [...stack.slice(0, depth), added];
}

const reasons = ['hw_slowdown', 'hw_thermal_slowdown', 'hw_power_brake_slowdown', 'sw_thermal_slowdown'];

/** Paths of the XML, where they are not the words of the text: path in the XML → path in the text. */
const spellings: Readonly<Record<string, string>> = {
  uuid: 'gpu_uuid',
  'pci.pci_bus_id': 'pci.bus_id',
  'pci.pci_gpu_link_info.pcie_gen.max_link_gen': 'pci.gpu_link_info.pcie_generation.max',
  'pci.pci_gpu_link_info.pcie_gen.current_link_gen': 'pci.gpu_link_info.pcie_generation.current',
  'pci.pci_gpu_link_info.pcie_gen.max_device_link_gen': 'pci.gpu_link_info.pcie_generation.device_max',
  'pci.pci_gpu_link_info.pcie_gen.max_host_link_gen': 'pci.gpu_link_info.pcie_generation.host_max',
  'pci.pci_gpu_link_info.link_widths.max_link_width': 'pci.gpu_link_info.link_width.max',
  'pci.pci_gpu_link_info.link_widths.current_link_width': 'pci.gpu_link_info.link_width.current',
  'utilization.gpu_util': 'utilization.gpu',
  'mig_mode.current_mig': 'mig_mode.current',
  'ecc_errors.volatile.sram_uncorrectable_secded': 'ecc_errors.volatile.sram_uncorrectable_sec_ded',
  'remapped_rows.remapped_row_pending': 'remapped_rows.pending',
  'remapped_rows.remapped_row_failure': 'remapped_rows.remapping_failure_occurred',
  'remapped_rows.remapped_row_unc': 'remapped_rows.uncorrectable_error',
  'gpu_power_readings.instant_power_draw': 'gpu_power_readings.instantaneous_power_draw',
  'temperature.gpu_temp': 'temperature.gpu_current_temp',
  'temperature.memory_temp': 'temperature.memory_current_temp',
  'temperature.gpu_temp_tlimit': 'temperature.gpu_t_limit_temp',
  'temperature.gpu_temp_max_gpu_threshold': 'temperature.gpu_max_operating_temp',
  'temperature.gpu_temp_max_mem_threshold': 'temperature.memory_max_operating_temp',
  // The text of drivers before and after 510 names it differently.
  'retired_pages.pending_retirement': 'retired_pages.pending',
  'retired_pages.pending_retirement_': 'retired_pages.pending_page_blacklist',
  ...Object.fromEntries(
    ['event', 'throttle'].flatMap((word) =>
      reasons.map((reason) => {
        const section = `clocks_${word}_reasons`;
        const inner = /^hw_./.test(reason) && reason !== 'hw_slowdown' ? `hw_slowdown.${reason}` : reason;
        return [`${section}.clocks_${word}_reason_${reason}`, `${section}.${inner}`];
      }),
    ),
  ),
};

/** Gives the values of a GPU also the names that they have in the XML. */
function asXml(gpu: Node): void {
  for (const [path, said] of Object.entries(spellings)) {
    const found = at(gpu, said.split('.'));
    if (found !== undefined) place(gpu, path.replace(/_$/, '').split('.'), found.text);
  }
  const devices = gpu.children.filter(({ name }) => name === 'mig_device');
  if (devices.length > 0) gpu.children.push({ ...node('mig_devices', ''), children: devices });
}

function at(from: Node, names: readonly string[]): Node | undefined {
  let current: Node | undefined = from;
  for (const name of names) current = current?.children.find((child) => child.name === name);
  return current;
}

function place(from: Node, names: readonly string[], text: string): void {
  let current = from;
  for (const name of names) {
    let next = current.children.find((child) => child.name === name);
    if (next === undefined) current.children.push((next = node(name, '')));
    current = next;
  }
  Object.assign(current, { text });
}

const tableHeader = /^\| NVIDIA-SMI \d[^\n]*/m;

export function hasSmiTable(text: string): boolean {
  return tableHeader.test(text);
}

/**
 * Reads the table that plain `nvidia-smi` prints, up to the list of processes: from there on, text may be names of processes. The
 * table has uncorrected errors, persistence mode and failure tokens, and no UUIDs. Pure.
 */
export function readSmiTable(text: string): SmiText {
  const { 0: header = '', index = 0 } = tableHeader.exec(text) ?? {};
  const [table = ''] = text.slice(index).split(/^\| Processes:/m, 1);
  const versions = /Driver Version: (?<driver>\S+)|KMD Version: (?<kmd>\S+)/.exec(header)?.groups ?? {};
  const cuda = /CUDA (?:UMD )?Version: (\d\S*)/.exec(header)?.[1] ?? '';
  const root = node('nvidia_smi_log', '');
  root.children.push(node('driver_version', versions['driver'] ?? versions['kmd'] ?? ''));
  root.children.push(node('cuda_version', cuda));
  // The part below |====| has three lines for each GPU, with a rule after them.
  const lines = table.split('\n').map((line) => line.slice(0, longestLine).trimEnd());
  const [, below = ''] = lines.join('\n').split(/^\|=[=+|]*$/m, 2);
  for (const block of below.split(/^\+[-+]*$/m)) {
    const gpu = rowOf(block);
    if (gpu !== undefined) root.children.push(gpu);
  }
  return { before: text.slice(0, index), report: withVersions(root, gpusIn(root)) };
}

const row =
  /^\| +\d{1,3} {2,}(?<name>\S.*?) +(?<persistence>On|Off|N\/A|ERR!) +\| *(?<bus>\S+)(?: +\S+)? *\| *(?<ecc>.*?) *\|/m;

function rowOf(block: string): Node | undefined {
  const found = row.exec(block)?.groups;
  if (found === undefined) return undefined;
  const { name = '', persistence = '', bus = '', ecc = '' } = found;
  const [, rest = ''] = block.split(found['name'] ?? '', 2);
  const gpu = node('gpu', '', { id: bus });
  const token = /ERR!|GPU is lost|GPU requires reset|Unknown Error/i.exec(rest)?.[0];
  const [, celsius] = /(\d+)C\b/.exec(rest) ?? [];
  const [, used, total] = /(\d+)MiB *\/ *(\d+)MiB/.exec(rest) ?? [];
  const [, load] = /\| *(\d+)% /.exec(rest) ?? [];
  const values: Readonly<Record<string, string | undefined>> = {
    product_name: name,
    persistence_mode: { On: 'Enabled', Off: 'Disabled' }[persistence],
    'ecc_errors.volatile.dram_uncorrectable': ecc,
    'temperature.gpu_temp': celsius,
    performance_state: / (P\d+) /.exec(rest)?.[1],
    'fb_memory_usage.used': used,
    'fb_memory_usage.total': total,
    'utilization.gpu_util': load,
    table: token,
  };
  for (const [path, value] of Object.entries(values)) {
    if (value !== undefined) place(gpu, path.split('.'), value);
  }
  return gpu;
}
