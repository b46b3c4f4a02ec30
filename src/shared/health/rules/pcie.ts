import { defined } from '../../base/defined.ts';
import type { Gpu } from '../gpu.ts';
import { number } from '../values.ts';
import type { XmlElement } from '../xml.ts';
import { below, tell } from './judge.ts';
import { family } from './rule.ts';

/** The link between the card and its host. */
export const pcie = family({
  read: (gpu) => ({ pcie: link(gpu) }),
  rules: [
    {
      code: 'gpu.pcie-width',
      severity: 'warn',
      when: 'fewer lanes than the card has',
      source: 'as DCGM does; some clouds’ machines show this always',
      seen: ({ pcie: { width, maxWidth } }) => below(width, maxWidth, 'PCIe lanes'),
      next: 'reseat the card, check risers and the slot',
    },
    {
      code: 'gpu.pcie-generation',
      severity: 'warn',
      when: 'below what card and host can do, while working (P0 to P2, utilisation > 0)',
      source: 'an idle link slows down to save power',
      seen: (gpu) =>
        tell(isWorking(gpu), below(gpu.pcie.generation, gpu.pcie.maxGeneration, 'PCIe generation')),
      next: 'check BIOS settings, risers and the slot',
    },
  ],
});

function link(gpu: XmlElement) {
  const generation = 'pci.pci_gpu_link_info.pcie_gen';
  const width = 'pci.pci_gpu_link_info.link_widths';
  const device = number(gpu, `${generation}.max_device_link_gen`, `${generation}.max_link_gen`);
  const host = number(gpu, `${generation}.max_host_link_gen`);
  return defined({
    generation: number(gpu, `${generation}.current_link_gen`),
    /** The best that card and host can do together. */
    maxGeneration: device === undefined ? undefined : Math.min(device, host ?? device),
    width: number(gpu, `${width}.current_link_width`),
    maxWidth: number(gpu, `${width}.max_link_width`),
  });
}

/** An idle GPU lowers its link speed to save power; only a working one tells. */
function isWorking({ performanceState, utilizationPercent }: Gpu): boolean {
  return performanceState !== undefined && performanceState <= 2 && (utilizationPercent ?? 0) > 0;
}
