import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  buildArgs,
  contextTar,
  type ImageSpec,
  imageTag,
  withRegistry,
} from '../../../../src/shared/image/plan.ts';
import { AgentLayout } from '../../../../src/shared/image/layout.ts';

const spec: ImageSpec = {
  base: 'nvidia/cuda:13.2.1-base-ubuntu24.04',
  flavour: 'cuda13.2',
  agentVersion: '4.255.0',
  agentUrl: 'https://mirror.example/agent.tar.gz',
  agentSha256: 'a'.repeat(64),
  sudo: false,
  docker: false,
  graphics: true,
};
const context = await contextTar([
  { path: 'start.sh', content: Buffer.from('s'), mode: 0o755 },
  { path: 'Dockerfile', content: Buffer.from('d'), mode: 0o644 },
]);
const file = (name: string): string =>
  readFileSync(new URL(`../../../../dockeragent/${name}`, import.meta.url), 'utf8');

test('the Dockerfile or Docker knows every argument', () => {
  const declared = [...file('Dockerfile').matchAll(/^ARG (\w+)/gm)].map(([, name]) => name);
  const args = buildArgs({
    ...spec,
    aptMirror: 'https://mirror.example/',
    proxy: { http: 'http://p', https: 'http://p', noProxy: ['a', 'b'] },
  });
  const predefined = ['http_proxy', 'https_proxy', 'no_proxy'];
  expect(Object.keys(args).filter((name) => !declared.includes(name))).toEqual(predefined);
  expect(args).toMatchObject({
    GRAPHICS: '1',
    JOBS_SUDO: '0',
    APT_MIRROR: 'https://mirror.example',
    no_proxy: 'a,b',
  });
});

test('the tag changes with the inputs of the image, and with nothing else', () => {
  const tag = imageTag(spec, context);
  expect(tag).toMatch(/^azp-fleet\/agent:4\.255\.0-cuda13\.2-[\da-f]{12}$/);
  expect(imageTag({ ...spec, proxy: { http: 'http://p', noProxy: [] } }, context)).toBe(tag);
  expect(imageTag({ ...spec, sudo: true }, context)).not.toBe(tag);
  expect(imageTag(spec, Buffer.concat([context, Buffer.from('x')]))).not.toBe(tag);
});

test('the Dockerfile agrees with the layout', () => {
  const dockerfile = file('Dockerfile');
  expect(dockerfile).toContain(
    `--chown=${AgentLayout.uid}:${AgentLayout.gid} ${AgentLayout.root} ${AgentLayout.root}\n`,
  );
  expect(dockerfile).toContain(`USER ${AgentLayout.user}\n`);
  expect(file('install.sh')).toContain(`useradd --uid ${AgentLayout.uid} --gid ${AgentLayout.gid}`);
  expect(file('start.sh')).toContain(
    `in ${AgentLayout.agentFile} ${AgentLayout.credentialsFile} ${AgentLayout.keyFile};`,
  );
});

test('the Dockerfile needs no BuildKit', () => {
  expect(file('Dockerfile')).not.toMatch(/^# syntax=|RUN --mount|COPY --(?:chmod|link)|ADD --|<<EOF/m);
});

test.each([
  ['ubuntu:24.04', undefined, 'ubuntu:24.04'],
  ['ubuntu:24.04', 'registry.example/hub', 'registry.example/hub/library/ubuntu:24.04'],
  ['nvidia/cuda:1', 'registry.example/', 'registry.example/nvidia/cuda:1'],
  ['localhost:5000/base:1', 'registry.example', 'localhost:5000/base:1'],
  ['ghcr.io/org/base:1', 'registry.example', 'ghcr.io/org/base:1'],
  ['docker.io/nvidia/cuda:1', 'registry.example', 'registry.example/nvidia/cuda:1'],
])('%s under %s is %s', (reference, registry, whole) => {
  expect(withRegistry(reference, registry)).toBe(whole);
});
