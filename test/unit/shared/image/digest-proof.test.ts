import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { sha256 } from '../../../../src/shared/base/digest.ts';
import { digestIn, parseManifest, provenIds } from '../../../../src/shared/image/digest-proof.ts';

const config = sha256('config');
const blob = (digest: string, size = 1) => ({ digest: `sha256:${digest}`, size });
const text = (value: unknown): Buffer => Buffer.from(JSON.stringify(value, null, 3));
const manifest = text({ schemaVersion: 2, config: blob(config), layers: [blob(sha256('layer'))] });
const index = text({ schemaVersion: 2, manifests: [blob(sha256('none')), blob(sha256(manifest))] });
const ids = [`sha256:${sha256(manifest)}`, `sha256:${config}`];

it.each([
  ['registry.lab/team/x', undefined],
  ['registry.lab/team/x:1', undefined],
  [`x@sha256:${config}`, config],
  [`registry.lab:5000/x:1@sha256:${config}`, config],
  [`x@sha256:${config.slice(1)}`, undefined],
  [`x@sha512:${config}${config}`, undefined],
])('the digest in %s', (reference, digest) => {
  expect(digestIn(reference)).toBe(digest);
});

describe('manifests and a digest', () => {
  it.each([
    ['its own manifest', sha256(manifest), [manifest], ids],
    ['an index and one of its manifests', sha256(index), [manifest, index], ids],
    ['a list alone', sha256(index), [index], []],
    ['an index without its manifests', sha256(index), [manifest], []],
    ['the manifest of another digest', sha256('another'), [manifest, index], []],
    ['a changed manifest', sha256(manifest), [Buffer.concat([manifest, Buffer.from(' ')])], []],
    ['nothing', sha256(manifest), [], []],
    ['no manifest', sha256('{}'), [Buffer.from('{}')], []],
  ])('%s', (_, digest, documents, proven) => {
    expect(provenIds(digest, documents)).toEqual(proven);
  });

  it('prove nothing if none has the digest', () => {
    const said = fc.oneof(fc.string(), fc.json(), fc.constantFrom(String(manifest), String(index)));
    fc.assert(
      fc.property(fc.array(said), (documents) => {
        const digest = sha256('wanted');
        expect(
          provenIds(
            digest,
            documents.map((each) => Buffer.from(each)),
          ),
        ).toEqual([]);
      }),
    );
  });
});

it('are parsed, and other documents are not', () => {
  expect(parseManifest(String(manifest))).toMatchObject({
    kind: 'image',
    config: { digest: config, size: 1 },
  });
  expect(
    parseManifest(
      JSON.stringify({ manifests: [{ ...blob(config), platform: { os: 'linux', architecture: 'amd64' } }] }),
    ),
  ).toMatchObject({ kind: 'index', manifests: [{ digest: config, os: 'linux', architecture: 'amd64' }] });
  for (const other of [
    '',
    '[]',
    '{"schemaVersion":1,"fsLayers":[]}',
    '{"manifests":[{"digest":"sha256:../x"}]}',
  ])
    expect(parseManifest(other)).toBeUndefined();
});
