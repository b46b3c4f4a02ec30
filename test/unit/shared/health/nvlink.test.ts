import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';

import { checkNvlinks, isWired, readNvlinks } from '../../../../src/shared/health/nvlink.ts';

const capture = (name: string): string => readFileSync(`test/fixtures/nvidia-smi/nvlink/${name}.txt`, 'utf8');

const sxm = 'NVIDIA A100-SXM4-80GB';
const bridged = 'NVIDIA RTX A6000';
const noLinks = 'NVML: Unable to retrieve NVLink information as all links are inActive\n';

/** Returns the output for GPUs with these links: `1` is active, `0` inactive, other text a line. */
function host(model: string, ...gpus: readonly string[]): string {
  return gpus
    .map((links, gpu) => {
      const lines = /^[01]+$/.test(links)
        ? links
            .split('')
            .map((each, at) => `\t Link ${at}: ${each === '1' ? '26.562 GB/s' : '<inactive>'}\n`)
            .join('')
        : links;
      return `GPU ${gpu}: ${model} (UUID: GPU-0000000${gpu}-aaaa)\n${lines}`;
    })
    .join('');
}

const shown = (output: string): readonly string[] =>
  checkNvlinks(readNvlinks(output)).map(
    ({ severity, code, gpu, what }) => `${severity} ${code} ${gpu}: ${what}`,
  );

describe('real captures have no finding', () => {
  test.each([
    ['h200', 'listed', 18],
    ['h200-mig', 'none', 0],
    ['geforce-rtx-2080-super', 'all-inactive', 0],
    ['geforce-rtx-4080-super', 'none', 0],
  ])('%s', (name, kind, active) => {
    const links = readNvlinks(capture(name));
    expect(links).toMatchObject([{ kind, active, inactive: [] }]);
    expect(checkNvlinks(links)).toEqual([]);
  });
});

describe('a case that fires, and beside it one that does not', () => {
  test.each<[string, string, readonly string[]]>([
    [
      'one link of a board is down',
      host(sxm, '111111', '110111'),
      [
        `warn gpu.nvlink-inactive GPU-00000001-aaaa: NVLink 2 of 6 is inactive; another ${sxm} of this host has 6 active`,
      ],
    ],
    ['all links of the board are up', host(sxm, '111111', '111111'), []],
    [
      'all links of one GPU are down: they are not listed',
      host('NVIDIA B200', '1111', noLinks),
      [
        'warn gpu.nvlink-inactive GPU-00000001-aaaa: all its NVLinks are inactive; another NVIDIA B200 of this host has 4 active',
      ],
    ],
    [
      'no GPU of a board has links, as without its fabric manager',
      host('NVIDIA H100 80GB HBM3', noLinks, noLinks),
      [0, 1].map(
        (gpu) =>
          `warn gpu.nvlink-inactive GPU-0000000${gpu}-aaaa: all its NVLinks are inactive, and so are those of the other GPUs`,
      ),
    ],
    ['the only GPU of a board, as in a virtual machine', host(sxm, noLinks), []],
    [
      'a virtual machine with half of a board: equal GPUs',
      host(sxm, '1101', '1101'),
      [0, 1].map((gpu) => `info gpu.nvlink-inactive GPU-0000000${gpu}-aaaa: NVLink 2 of 4 is inactive`),
    ],
    ['cards without bridges', host(bridged, noLinks, noLinks), []],
    ['two bridged cards and one without a bridge', host(bridged, '1111', '1111', noLinks), []],
    [
      'a bridge with a bad contact',
      host(bridged, '1111', '1001'),
      ['info gpu.nvlink-inactive GPU-00000001-aaaa: NVLink 1, 2 of 4 are inactive'],
    ],
    ['cards that cannot have links', host('NVIDIA L40S', 'Device does not have or support Nvlink\n', ''), []],
    [
      'a state that is not known is not taken for an active link',
      host(sxm, '\t Link 0: Sleep\n', '1'),
      [
        'info gpu.nvlink-unknown GPU-00000000-aaaa: whether its NVLinks are active is unknown: nvidia-smi prints "Link 0: Sleep"',
      ],
    ],
  ])('%s', (_, output, expected) => expect(shown(output)).toEqual(expected));
});

test.each([
  ['NVIDIA A100-SXM4-40GB', true],
  ['Tesla V100-SXM2-32GB', true],
  ['NVIDIA H100 80GB HBM3', true],
  ['NVIDIA H200', true],
  ['NVIDIA GB200', true],
  ['NVIDIA H200 NVL', false],
  ['NVIDIA H100 PCIe', false],
  ['NVIDIA A100 80GB PCIe', false],
  ['NVIDIA GH200 480GB', false],
  ['NVIDIA RTX A6000', false],
  ['NVIDIA GeForce RTX 3090', false],
])('%s: links on the board %s', (name, wired) => expect(isWired(name)).toBe(wired));

it('reads any output without failing, and takes no text for an active link', () => {
  const words = fc.constantFrom(
    'GPU 0: X (UUID: GPU-1)',
    '\t Link 1: <inactive>',
    'Link',
    '\t Link 2: 25 GB/s',
    noLinks,
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(words, fc.string())), (lines) => {
      const links = readNvlinks(lines.join('\n'));
      expect(() => checkNvlinks(links)).not.toThrow();
      const rates = lines.filter((line) => line.includes('25 GB/s')).length;
      expect(links.reduce((sum, { active }) => sum + active, 0)).toBeLessThanOrEqual(rates);
    }),
  );
});
