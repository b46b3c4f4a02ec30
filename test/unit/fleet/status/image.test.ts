import { expect, test } from 'vitest';

import { imageText } from '../../../../src/cli/commands/image.ts';
import { imageRow } from '../../../../src/fleet/status/image.ts';
import { facts, host, status } from './observation.ts';

const plain = { width: 80, paint: (_: unknown, text: string) => text };
const cuda = (cudaVersion: string, computeCapability: string) =>
  facts({
    status: status({
      health: {
        state: 'healthy',
        cudaVersion,
        gpus: [{ uuid: 'GPU-1', name: 'x', computeCapability }],
        findings: [],
      },
    }),
  });

test.each([
  [
    'by the manager’s report of driver and GPUs',
    host,
    cuda('12.8', '7.0'),
    { choice: { tag: 'nvidia/cuda:12.8.2-base-ubuntu24.04' } },
  ],
  [
    'by the loaded driver',
    host,
    facts({ status: undefined }),
    { choice: { tag: 'nvidia/cuda:13.0.3-base-ubuntu24.04' } },
  ],
  [
    'by the branch that will be installed',
    host,
    facts({ status: undefined }, { driver: { loaded: undefined } }),
    { choice: { tag: 'nvidia/cuda:13.0.3-base-ubuntu24.04' } },
  ],
  ['without GPUs', host, facts({}, { gpus: [] }), { choice: { tag: 'ubuntu:24.04' } }],
  ['none fits', host, cuda('11.2', '8.0'), { choice: { ok: false } }],
  [
    'the inventory’s image',
    { ...host, image: 'registry.example/agent:1' },
    facts(),
    { kind: 'image', reference: 'registry.example/agent:1' },
  ],
  [
    'the inventory’s base',
    { ...host, baseImage: 'nvidia/cuda:12' },
    facts(),
    { kind: 'base', reference: 'nvidia/cuda:12' },
  ],
])('%s', (_, spec, seen, wanted) => {
  expect(imageRow({ host: spec, facts: seen }).wanted).toMatchObject(wanted);
});

test('each host with its image, the reason and the present image; one that cannot be read with its problem', () => {
  const rows = [
    imageRow({ host, facts: cuda('13.0', '9.0') }),
    imageRow({
      host: { ...host, name: 'away' },
      problem: { code: 'ssh.timeout', what: 'no answer', next: 'is it on?' },
    }),
  ];
  expect(imageText(rows, plain)).toBe(`h200-1
  base     nvidia/cuda:13.0.3-base-ubuntu24.04
  because  the driver supports CUDA up to 13.0, the GPUs have compute
           capability 9.0
  on host  azp-fleet/agent:1 ready

away
  problem  no answer
  next     is it on?
`);
});

test('an archive without a known digest is shown with the digest of its first download', () => {
  const archives = [
    {
      archive: 'vsts-agent-linux-x64-5.300.0.tar.gz',
      sha256: 'ab'.repeat(32),
      at: '2026-11-22T02:00:00.000Z',
    },
  ];
  const said = imageText([{ host: 'h200-1', archives }], plain).replaceAll(/\s+/gu, ' ');
  expect(said).toContain('agent vsts-agent-linux-x64-5.300.0.tar.gz, first seen 2026-11-22 and pinned since');
  expect(said).toContain('ab'.repeat(32));
});
