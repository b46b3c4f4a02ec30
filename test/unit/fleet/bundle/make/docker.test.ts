import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, expect, it } from 'vitest';

import { docker, engineMachine } from '../../../../../src/fleet/bundle/make/docker.ts';

const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-docker-'));
afterAll(() => rmSync(folder, { recursive: true }));
const { signal } = new AbortController();

/** A stand-in for docker that runs the script. */
function standIn(script: string, env: Readonly<Record<string, string>> = {}) {
  const bin = mkdtempSync(join(folder, 'bin-'));
  writeFileSync(join(bin, 'docker'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { env: { PATH: `${bin}:/usr/bin:/bin`, ...env }, signal };
}

it('has input, output and lines, and no token in its environment', async () => {
  const tools = standIn('cat; echo working >&2; env | grep -E "DOCKER|TOKEN" >&2', {
    DOCKER_HOST: 'unix:///there',
    AZP_TOKEN: 's3cret',
  });
  const lines: string[] = [];
  const onLine = (line: string): void => void lines.push(line);
  expect(await docker(tools, ['run'], { doing: 'run', input: 'in', onLine })).toBe('in');
  expect(lines).toEqual(['working', 'DOCKER_HOST=unix:///there']);
});

it('reports its stderr if it fails, whatever its output', async () => {
  const tools = standIn('echo half; echo "no such image" >&2; exit 1');
  const run = docker(tools, ['save', 'x'], {
    doing: 'save x',
    take: () => Promise.reject(new Error('half an archive')),
  });
  await expect(run).rejects.toMatchObject({ problem: { code: 'bundle.docker', seen: 'no such image' } });
});

it('reports an error while reading its output', async () => {
  const take = async (output: NodeJS.ReadableStream): Promise<void> => {
    await text(output);
    throw new Error('not an archive');
  };
  await expect(docker(standIn('echo x'), [], { doing: 'save', take })).rejects.toThrow('not an archive');
});

it('reports a missing docker command, and the machine of the engine', async () => {
  const none = { env: { PATH: folder }, signal };
  await expect(engineMachine(none)).rejects.toMatchObject({ problem: { code: 'bundle.docker' } });
  expect(await engineMachine(standIn('echo arm64'))).toBe('aarch64');
  expect(await engineMachine(standIn('echo riscv64'))).toBeUndefined();
});
