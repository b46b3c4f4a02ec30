import { readFileSync } from 'node:fs';
import { type GpuReport, parseSmi } from '../../src/shared/health/smi-report.ts';
import { parseXml, type XmlElement } from '../../src/shared/health/xml.ts';

/** Texts by their path below `<gpu>`, as `nvidia-smi -q -x` has them: `{ 'temperature.gpu_temp': '28 C' }`. */
export type Values = Readonly<Record<string, string>>;

/** A GPU with these values, read from the XML that nvidia-smi would print. */
export function gpuFrom(values: Values): GpuReport {
  const parsed = parseSmi(
    { code: 0, output: `<nvidia_smi_log><gpu>${elements(values)}</gpu></nvidia_smi_log>` },
    [],
  );
  const gpu = parsed.ok ? parsed.report.gpus[0] : undefined;
  if (gpu === undefined) throw new Error(parsed.ok ? 'no GPU' : parsed.reason);
  return gpu;
}

/** All values of a healthy H200. */
export const healthyGpu: Values = (() => {
  const file = new URL('../fixtures/nvidia-smi/h200-pair-v13.xml', import.meta.url);
  const parsed = parseXml(readFileSync(file, 'utf8'));
  const gpu = parsed.ok ? parsed.root.children.find(({ name }) => name === 'gpu') : undefined;
  if (gpu === undefined) throw new Error('no GPU in the fixture');
  return Object.fromEntries(leaves(gpu, []));
})();

function leaves({ children, text }: XmlElement, path: readonly string[]): [string, string][] {
  if (children.length === 0) return [[path.join('.'), text]];
  return children.flatMap((child) => leaves(child, [...path, child.name]));
}

function elements(values: Values): string {
  const byName = Map.groupBy(Object.entries(values), ([path]) => path.split('.')[0] ?? '');
  return [...byName]
    .map(([name, entries]) => {
      const inside = entries.filter(([path]) => path !== name);
      const below = inside.map(([path, text]) => [path.slice(name.length + 1), text] as const);
      return `<${name}>${escaped(values[name] ?? '')}${elements(Object.fromEntries(below))}</${name}>`;
    })
    .join('');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
