import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { checkReleases, sources } from '../../scripts/check-releases.ts';

let server: Server | undefined;
afterEach(() => server?.close());

type Lists = Readonly<Record<string, string>>;

/** What the vendors' servers answer today: nothing new. */
const known: Lists = {
  driver: JSON.stringify({ 580: { type: 'lts branch', driver_info: [{ release_version: '580.95.05' }] } }),
  cuda: JSON.stringify({ results: [{ name: '13.2.1-base-ubuntu24.04' }, { name: 'latest' }] }),
  docker:
    'Package: docker-ce\nVersion: 5:29.7.2-1~debian.12~bookworm\n\nPackage: docker-ce-cli\nVersion: 5:99.0.0-1\n',
  toolkit: 'Package: nvidia-container-toolkit\nVersion: 1.20.0-1\n',
  agent: JSON.stringify([{ name: 'v5.279.0' }, { name: 'v5.280.0-preview' }]),
};

/** Runs the check against a server that has these lists, at a time when nothing has ended. */
async function check(lists: Lists, now = 0): Promise<readonly string[]> {
  const parts = new Map(sources.map(({ part, address }) => [address, part]));
  server = createServer((request, response) => {
    const text = lists[String(request.url).slice(1)];
    response.writeHead(text === undefined ? 503 : 200).end(text);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const read = async (address: string): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${port}/${parts.get(address) ?? ''}`);
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    return answer.text();
  };
  return checkReleases(read, now);
}

test('nothing new, and nothing has ended', async () => {
  expect(await check(known)).toEqual([]);
});

test.each([
  [
    'driver',
    '{"580":{"driver_info":[{"release_version":"580.999.01"}]}}',
    'driver 580: 580.999.01 is out, not 580.178.04',
  ],
  [
    'driver',
    '{"700":{"driver_info":[{"release_version":"700.1.2"}]}}',
    'driver 700: a line that the table does not have: 700.1.2',
  ],
  ['cuda', '{"results":[{"name":"13.2.9-base-ubuntu24.04"}]}', 'cuda 13.2: 13.2.9 is out, not 13.2.1'],
  [
    'cuda',
    '{"results":[{"name":"14.0.0-base-ubuntu24.04"}]}',
    'cuda 14.0: a line that the table does not have: 14.0.0',
  ],
  [
    'docker',
    'Package: docker-ce\nVersion: 5:29.9.0-1~debian.12~bookworm\n',
    'docker 29: 29.9.0 is out, not 29.8.2',
  ],
  [
    'docker',
    'Package: docker-ce\nVersion: 5:30.0.0-1~debian.12~bookworm\n',
    'docker 30: a line that the table does not have: 30.0.0',
  ],
  [
    'toolkit',
    'Package: nvidia-container-toolkit\nVersion: 1.21.0-1\n',
    'toolkit 1.21: a line that the table does not have: 1.21.0',
  ],
  ['agent', '[{"name":"v5.300.0"}]', 'agent 5: 5.300.0 is out, not 5.279.0'],
  [
    'driver',
    'a page',
    'driver: https://docs.nvidia.com/datacenter/tesla/drivers/releases.json cannot be read: SyntaxError',
  ],
  [
    'toolkit',
    'Package: another\nVersion: 9\n',
    'toolkit: https://nvidia.github.io/libnvidia-container/stable/deb/amd64/Packages lists no version',
  ],
])('%s: %s', async (part, text, expected) => {
  const found = await check({ ...known, [part]: text });
  expect(found).toHaveLength(1);
  expect(found[0]).toContain(expected);
});

test('a server that does not answer is reported', async () => {
  const { agent: _, ...rest } = known;
  expect(await check(rest)).toEqual([expect.stringContaining('agent: https://api.github.com/')]);
});

test('what has ended by the given time', async () => {
  const found = await check(known, Date.parse('2026-11-28'));
  expect(found).toContain('driver 535: support ended 2026-06; successor: 580');
  expect(found.join('\n')).not.toContain('driver 580');
  expect(await check(known, Date.parse('2028-07-01'))).toContain(
    'driver 580 (default): support ended 2028-06; successor: 620',
  );
});
