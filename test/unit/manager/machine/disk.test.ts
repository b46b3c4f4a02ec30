import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { containerdRoot } from '../../../../src/manager/machine/disk.ts';

const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'azp-'));

it.each([
  ['double quotes', 'version = 3\n  root = "FOLDER"\n[plugins]\nroot = "/elsewhere"\n'],
  ['single quotes', "imports = ['/etc/containerd/conf.d/*.toml']\nroot='FOLDER'"],
])("containerd's folder is that of its configuration: %s", async (_, text) => {
  const folder = temporaryFolder();
  const [config, root] = [join(folder, 'config.toml'), join(folder, 'data')];
  mkdirSync(root);
  writeFileSync(config, text.replace('FOLDER', root));
  expect(await containerdRoot(config)).toBe(root);
});

it('a folder that does not exist is none: dockerd has a containerd of its own', async () => {
  const folder = temporaryFolder();
  const config = join(folder, 'config.toml');
  writeFileSync(config, `root = "${join(folder, 'gone')}"\n`);
  expect(await containerdRoot(config)).toBeUndefined();
});
