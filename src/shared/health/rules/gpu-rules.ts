import type { Gpu } from '../gpu.ts';
import type { Finding } from '../verdict.ts';
import type { XmlElement } from '../xml.ts';
import { driver } from './driver.ts';
import { failure } from './failure.ts';
import { heatAndPower } from './heat-and-power.ts';
import { memory } from './memory.ts';
import { pcie } from './pcie.ts';
import { readiness } from './readiness.ts';
import type { Rule } from './rule.ts';

/** What all families read of one `<gpu>` element of schema v10 to v13. */
export function readForRules(gpu: XmlElement) {
  return {
    ...failure.read(gpu),
    ...memory.read(gpu),
    ...readiness.read(gpu),
    ...heatAndPower.read(gpu),
    ...pcie.read(gpu),
    ...driver.read(gpu),
  };
}

export type Readings = ReturnType<typeof readForRules>;

/** In the order in which findings of one severity are told: the first is the cause of a verdict. */
export const gpuRules: readonly Rule<Readings>[] = [
  ...failure.rules,
  ...memory.rules,
  ...readiness.rules,
  ...heatAndPower.rules,
  ...pcie.rules,
  ...driver.rules,
];

/** What the rules find about one GPU. */
export function checkGpu(gpu: Gpu & Readings): readonly Finding[] {
  return gpuRules.flatMap(({ code, severity, seen, next }) => {
    const what = seen(gpu);
    if (what === undefined) return [];
    return [
      { code, gpu: gpu.uuid || gpu.busId, severity, what, next: next.replaceAll('{bus}', () => gpu.busId) },
    ];
  });
}
