import { describe, expect, it } from 'vitest';

import { sha256 } from '../../../../src/shared/base/digest.ts';
import { HostPaths } from '../../../../src/shared/contract/paths.ts';
import type { DockerfileSpec } from '../../../../src/fleet/inventory/fleet.ts';
import { imageStep } from '../../../../src/fleet/steps/image.ts';
import { configText, managerConfig } from '../../../../src/fleet/steps/manager/config.ts';
import { managerStep } from '../../../../src/fleet/steps/manager/step.ts';
import type { BuildFolder, Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, factsOf, merge } from '../../../support/host.ts';

const folder = '/lab/images/vision';
const push = 'registry.lab:5000/vision/agent';

function sent(sha256: string): BuildFolder {
  return {
    name: 'vision',
    files: 3,
    artifact: { kind: 'file', file: '/cache/x.tar', sha256: sha256.repeat(64), size: 20_480, gunzip: false },
  };
}

function desiredWith(name: string, more: Partial<DockerfileSpec> = {}, digest = 'a'): Desired {
  const { host, artifacts } = desiredOf({ name, dockerfile: { folder, ...more } });
  const brought = { ...artifacts, folders: new Map([[folder, sent(digest)]]) };
  const builder = more.builder === undefined ? undefined : { ...host, name: more.builder };
  return desiredOf(host, { artifacts: brought, builder });
}
const shared = { builder: 'h200-1', push };

const changes = (desired: Desired, facts = factsOf()): string[] =>
  [...imageStep.plan(facts, desired)].map((item) =>
    'refused' in item ? item.what : `${item.title}: ${'why' in item ? item.why : ''}`,
  );
const image = (desired: Desired) => managerConfig(desired, 'x64').image;

describe("a team's folder", () => {
  it('is uploaded to each host that builds it, and the plan shows the consequences', () => {
    expect(changes(desiredWith('a'))).toEqual([
      'upload the build context of agent image 4.260.0: the host has no build context of this version',
      'build the image of vision on top of agent image 4.260.0: the host has no such folder (3 files, 20 KiB); one agent first, the others once it works; running jobs finish first',
    ]);
    const [, change] = [...imageStep.plan(factsOf(), desiredWith('a'))];
    expect(change !== undefined && 'actions' in change && change.actions).toMatchObject([
      { kind: 'upload', path: `${HostPaths.folders}/${'a'.repeat(64)}.tar`, mode: 0o600 },
    ]);
    expect(image(desiredWith('a'))).toMatchObject({
      kind: 'build',
      top: { name: 'vision', folder: 'a'.repeat(64) },
    });
  });

  it('is shown as a change if it differs, and not uploaded again if present', () => {
    const facts = factsOf({ manager: { folders: ['a'.repeat(64)] } });
    expect(changes(desiredWith('a'), facts)).toHaveLength(1);
    expect(changes(desiredWith('a', {}, 'b'), facts)[1]).toContain(
      'the folder has changed (3 files, 20 KiB)',
    );
  });

  it('with a builder is uploaded only to that host, which pushes the image; other hosts pull it by the same name', () => {
    expect(changes(desiredWith('h200-1', shared))[1]).toContain(`; pushed to ${push};`);
    expect(changes(desiredWith('h200-2', shared))).toEqual([]);
    const built = image(desiredWith('h200-1', shared));
    const reference = expect.stringMatching(
      /^registry\.lab:5000\/vision\/agent:4\.260\.0-x64-[0-9a-f]{12}$/,
    ) as string;
    expect(built).toMatchObject({ kind: 'build', top: { push: reference } });
    expect(image(desiredWith('h200-2', shared))).toEqual({
      kind: 'registry',
      reference: built.kind === 'build' ? built.top?.push : '',
      builtBy: 'h200-1',
    });
  });

  it('changes the name of the pushed image with each input of the build', () => {
    const names = [
      image(desiredWith('h200-2', shared)),
      image(desiredWith('h200-2', shared, 'b')),
      image(
        merge(desiredWith('h200-2', shared), { builder: { ...desiredOf().host, baseImage: 'ubuntu:24.04' } }),
      ),
      managerConfig(desiredWith('h200-2', shared), 'arm64').image,
    ];
    expect(new Set(names.map((each) => (each.kind === 'registry' ? each.reference : ''))).size).toBe(4);
    const elsewhere = merge(desiredWith('h200-2', shared), {
      builder: { ...desiredOf().host, pool: 'another' },
    });
    expect(image(elsewhere)).toEqual(names[0]);
  });

  it('is shown to pulling hosts as the new image of agents', () => {
    const desired = desiredWith('h200-2', shared);
    const before = managerConfig(desired, 'x64');
    const old = configText({
      ...before,
      image: { kind: 'registry', reference: `${push}:old`, builtBy: 'h200-1' },
    });
    const facts = factsOf({
      files: { [HostPaths.config]: sha256(old) },
      texts: { [HostPaths.config]: old },
    });
    const change = [...managerStep.plan(facts, desired)].find(
      (item) => 'id' in item && item.id.startsWith('manager-configuration'),
    );
    const { image: now } = before;
    expect(change).toMatchObject({
      why: 'differs from the inventory',
      marker: 'change',
      details: [
        {
          marker: 'change',
          text: `image: ${push}:old, built by h200-1 → ${now.kind === 'registry' ? now.reference : ''}, built by h200-1`,
        },
        { marker: 'change', text: 'slot 0 moves to a new image', effect: 'running jobs finish first' },
      ],
    });
  });
});
