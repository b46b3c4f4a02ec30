import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { sha256 } from '../../../../src/shared/base/digest.ts';
import type { Engine } from '../../../../src/shared/engine/engine.ts';
import { withBundledImages } from '../../../../src/manager/image/engine.ts';
import { makeImage } from '../../../../src/manager/image/make.ts';

let folder: string;
/** What the engine has, by every name that it knows it by. */
let there: Record<string, string>;
let pulled: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'brought-'));
  there = {};
  pulled = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const engine = (): Engine =>
  withBundledImages(
    {
      imageId: (reference: string) => Promise.resolve(there[reference]),
      pull: (reference: string) => {
        pulled.push(reference);
        there[reference] = 'sha256:pulled';
        return Promise.resolve();
      },
    } as unknown as Engine,
    folder,
  );

const config = sha256('config');
const manifest = JSON.stringify({ config: { digest: `sha256:${config}`, size: 1 }, layers: [] });
const index = JSON.stringify({ manifests: [{ digest: `sha256:${sha256(manifest)}`, size: 1 }] });
const keep = (text: string, name = sha256(text)): void => writeFileSync(join(folder, `${name}.json`), text);
const by = (digest: string): string => `registry.lab/team/x@sha256:${digest}`;

describe('an image that was brought is found by the digest in its name', () => {
  it.each([
    ['by its configuration, as engines with graph drivers have it', `sha256:${config}`],
    ['by its manifest, as engines with containerd have it', `sha256:${sha256(manifest)}`],
  ])('%s', async (_, id) => {
    keep(manifest);
    keep(index);
    there[id] = id;
    expect(await engine().imageId(by(sha256(manifest)))).toBe(id);
    expect(await engine().imageId(by(sha256(index)))).toBe(id);
  });

  it('and one that the engine itself knows by it needs no proof', async () => {
    there[by(config)] = 'sha256:own';
    expect(await engine().imageId(by(config))).toBe('sha256:own');
  });
});

describe('nothing else passes for it', () => {
  it('neither a tag of the same repository, nor the tag that it was loaded under', async () => {
    there = {
      'registry.lab/team/x:latest': 'sha256:other',
      'registry.lab/team/x:azp-fleet-1': 'sha256:other',
    };
    keep(manifest);
    expect(await engine().imageId(by(sha256(manifest)))).toBeUndefined();
  });

  it('nor what a manifest of another digest says, whatever name its file has', async () => {
    there[`sha256:${config}`] = 'sha256:other';
    keep(manifest, sha256('wanted'));
    expect(await engine().imageId(by(sha256('wanted')))).toBeUndefined();
  });

  it('and no tag is looked up in the folder', async () => {
    keep(manifest);
    there[`sha256:${config}`] = 'sha256:other';
    expect(await engine().imageId('registry.lab/team/x:1')).toBeUndefined();
  });
});

it('is not asked for again at its registry, unless somebody wants it fresh', async () => {
  keep(manifest);
  there[`sha256:${config}`] = `sha256:${config}`;
  const plan = { kind: 'pull', reference: by(sha256(manifest)) } as const;
  const make = (fresh: boolean) => makeImage(engine(), plan, fresh, () => undefined);
  expect(await make(false)).toEqual({ id: `sha256:${config}` });
  expect(pulled).toEqual([]);
  await make(true);
  expect(pulled).toEqual([plan.reference]);
});
