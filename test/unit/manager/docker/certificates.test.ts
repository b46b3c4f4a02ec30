import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { trustedCertificates } from '../../../../src/manager/docker/agent-setup.ts';

const folder = mkdtempSync(join(tmpdir(), 'ca-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string, content?: string) => {
  const path = join(folder, name);
  if (content !== undefined) writeFileSync(path, content);
  return path;
};
const site = at('site.pem', 'SITE');
const debian = at('debian.crt', 'ROOT 1\nROOT 2');
const fedora = at('fedora.pem', 'OTHER\n');
const missing = at('missing');
const empty = at('empty', '');

test.each([
  ["the host's own come first, then the site's", [debian, fedora], 'ROOT 1\nROOT 2\nSITE\n'],
  ['from the first file of the system that is not empty', [missing, empty, fedora], 'OTHER\nSITE\n'],
  ["the site's alone where the host has none", [missing], 'SITE\n'],
])('%s', async (_, system, bundle) => {
  expect(await trustedCertificates({ ca: true }, site, system)).toBe(bundle);
});

test('returns nothing for a site without an own authority', async () => {
  expect(await trustedCertificates({ ca: false }, missing, [debian])).toBeUndefined();
});

test("a missing file of the site is an error, because the host's certificates alone would fail later", async () => {
  await expect(trustedCertificates({ ca: true }, missing, [debian])).rejects.toThrow('ENOENT');
});
