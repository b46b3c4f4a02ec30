// Interrupts `bundle` at each Docker command that it waits for: no file is left here, and no container in Docker. The fake
// docker forwards signals to a container that ignores them, as Docker does.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { sha256 } from '../../../../src/shared/base/digest.ts';
import { tar } from '../../../../src/shared/base/tar.ts';
import { runCommand } from '../../../support/command.ts';

vi.mock('../../../../src/fleet/artifacts/fetch-runtime.ts', () => ({
  fetchRuntime: () => Promise.resolve(),
}));
vi.mock('../../../../src/fleet/artifacts/load.ts', async (original) => {
  const { desiredOf } = await import('../../../support/host.ts');
  const { writeFileSync: write, mkdtempSync: folder } = await import('node:fs');
  const file = join(folder(join(tmpdir(), 'azp-fleet-node-')), 'node.gz');
  write(file, 'node');
  const runtime = () => ({ kind: 'file', file, sha256: 'f'.repeat(64), size: 4, gunzip: true }) as const;
  const loadArtifacts = () => Promise.resolve({ ...desiredOf().artifacts, runtime });
  return { ...(await original<object>()), loadArtifacts };
});

let cwd: string;
let out: string;
beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'azp-fleet-ctrl-c-'));
  out = join(cwd, 'out');
  mkdirSync(out);
  writeFileSync(
    join(cwd, 'inventory.yaml'),
    'organization: https://dev.azure.com/lab\ntoken: { env: NO_SUCH }\nhosts: { a: { pool: p, address: 127.0.0.1, port: 9 } }\n',
  );
  const index = `Package: gcc\nVersion: 12\nArchitecture: amd64\nFilename: ./pool/gcc.deb\nSHA256: ${sha256('deb')}\n\n`;
  const files = { Packages: index, 'pool/gcc.deb': 'deb' };
  const entries = Object.entries(files).map(([path, text]) => ({
    path,
    content: Buffer.from(text),
    mode: 0o644,
  }));
  writeFileSync(join(cwd, 'gathered.tar'), await tar(entries));
});
afterEach(() => rmSync(cwd, { recursive: true }));

/** Installs a fake docker that waits at one verb and returns immediately from the others. */
function standIn(waits: string): void {
  mkdirSync(join(cwd, 'bin'));
  writeFileSync(
    join(cwd, 'bin/docker'),
    `#!/bin/sh
cd ${cwd} || exit
echo "$*" >>calls
case $1 in run) name=$4 ;; esac
if [ "$1" = ${waits} ]; then
  echo "half of it"
  : >waiting
  if [ "$1" = run ]; then
    trap '' TERM INT
    until [ -e "removed-$name" ] || [ ! -e calls ]; do sleep 0.05; done
    exit 137
  fi
  exec sleep 600
fi
case $1 in
  version) echo amd64 ;;
  run) cat >/dev/null; cat gathered.tar ;;
  build) cat >/dev/null; echo sha256:built ;;
  image) echo sha256:built ;;
  save) echo layers ;;
  rm) : >"removed-$3" ;;
esac
`,
    { mode: 0o755 },
  );
}

const make = (signal?: AbortSignal) =>
  runCommand(['bundle', '--json', '-o', 'out/site.bundle', '--for', 'debian-12'], {
    cwd,
    env: { PATH: `${join(cwd, 'bin')}:/usr/bin:/bin`, HOME: cwd },
    ...(signal === undefined ? {} : { signal }),
  });

describe('Ctrl-C during bundle', () => {
  it.each(['version', 'run', 'build', 'save'])('ends docker %s and leaves no file', async (verb) => {
    standIn(verb);
    const stop = new AbortController();
    const ended = make(stop.signal);
    await vi.waitUntil(() => readdirSync(cwd).includes('waiting'), { timeout: 120_000 });
    stop.abort();
    const { exitCode, stdout } = await ended;
    expect(exitCode).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({ exitCode: 130, problems: [{ code: 'interrupted' }] });
    expect(readdirSync(out)).toEqual([]);
    const calls = readFileSync(join(cwd, 'calls'), 'utf8');
    const [, container] = /^run --rm --name (\S+)/m.exec(calls) ?? [];
    if (verb === 'run') expect(calls).toContain(`rm -f ${container}\n`);
    else expect(calls).not.toContain('rm -f');
  });

  it('keeps the previous bundle', async () => {
    standIn('none');
    expect((await make()).exitCode).toBe(0);
    const before = readFileSync(join(out, 'site.bundle'));
    writeFileSync(
      join(cwd, 'bin/docker'),
      readFileSync(join(cwd, 'bin/docker'), 'utf8').replace('= none', '= save'),
    );
    const stop = new AbortController();
    const ended = make(stop.signal);
    await vi.waitUntil(() => readdirSync(cwd).includes('waiting'), { timeout: 120_000 });
    stop.abort();
    expect((await ended).exitCode).toBe(130);
    expect(readdirSync(out)).toEqual(['site.bundle']);
    expect(readFileSync(join(out, 'site.bundle')).equals(before)).toBe(true);
  });
});
