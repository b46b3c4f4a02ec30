import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

import { sha256 } from '../../../../src/shared/base/digest.ts';
import { machineRoot } from '../../../../src/shared/base/host-root.ts';
import { filesProbe } from '../../../../src/fleet/facts/probes/files.ts';

const root = mkdtempSync(join(tmpdir(), 'azp-fleet-files-'));
afterAll(() => rmSync(root, { recursive: true }));

/** Runs the probe's script on these files below the root. */
function readFiles(shell: readonly string[], files: Readonly<Record<string, string | Uint8Array>>) {
  rmSync(root, { recursive: true });
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(root + path), { recursive: true });
    writeFileSync(root + path, content);
  }
  mkdirSync(root, { recursive: true });
  const script = filesProbe
    .script({ root: machineRoot })
    .replaceAll(/(?<=[ '])\/(?=etc\/|usr\/local\/share)/g, `${root}/`);
  const [program = '', ...args] = shell;
  const { stdout, stderr } = spawnSync(program, [...args, '-c', script], { encoding: 'utf8' });
  expect(stderr).toBe('');
  const facts = filesProbe.parse(stdout);
  const below = <T>(all: Readonly<Record<string, T>>) =>
    Object.fromEntries(Object.entries(all).map(([path, value]) => [path.slice(root.length), value]));
  return { files: below(facts.files), texts: below(facts.texts) };
}

const shells = [['dash'], ['bash', '--posix'], ['busybox', 'sh']].filter(
  ([program = '', ...args]) => spawnSync(program, [...args, '-c', ':']).status === 0,
);
const config = '/etc/azp-fleet/manager.json';
const unit = '/etc/systemd/system/azp-fleet-manager.service';
const ca = '/etc/azp-fleet/ca.pem';
const source = '/etc/apt/sources.list.d/azp-fleet-docker.sources';
const key = '/etc/apt/keyrings/azp-fleet-nvidia.gpg';

describe.each(shells)('the texts of managed files: %s', (...shell) => {
  test('are read exactly', () => {
    const files = {
      [config]: '{\n  "host": "straße: 1",\n\n  "x": "a\tb\u001B[2J"\r\n}\n',
      [unit]: '[Unit]\nno newline at the end',
      [source]: '',
    };
    expect(readFiles(shell, files).texts).toEqual(files);
  });

  test('are left out if binary or too long, but their digests are not', () => {
    const long = 'x'.repeat(70).concat('\n').repeat(4000);
    const files = {
      [config]: '{}\n',
      [key]: Uint8Array.of(0x99, 0, 0xff, 10),
      [ca]: long,
      [source]: 'Types: deb\n',
    };
    const seen = readFiles(shell, files);
    expect(seen.texts).toEqual({ [config]: '{}\n', [source]: 'Types: deb\n' });
    expect(seen.files).toEqual(
      Object.fromEntries(Object.entries(files).map(([path, content]) => [path, sha256(content)])),
    );
  });

  test('are empty without files', () => {
    expect(readFiles(shell, {})).toEqual({ files: {}, texts: {} });
  });
});
