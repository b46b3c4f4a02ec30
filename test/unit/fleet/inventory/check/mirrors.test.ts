import { expect, test } from 'vitest';

import { fleet, mistakes } from '../fixture.ts';

const hosts = 'defaults: { pool: p }\nhosts: { a: {} }\n';

test.each(['registry.lab', 'registry.lab:5000', '192.0.2.1:5000/hub', 'registry.lab/team/hub.docker-io'])(
  'a registry for images: %s',
  (images) => {
    expect(fleet(`${hosts}mirrors: { images: "${images}" }\n`).mirrors.images).toBe(images);
  },
);

test.each(['https://registry.lab', 'registry.lab/', 'registry.lab/hub:1', '/hub'])(
  'an invalid registry for images: %s',
  (images) => {
    expect(mistakes(`${hosts}mirrors: { images: "${images}" }\n`)).toEqual([
      `inventory.yaml:5:20: mirrors.images has an invalid value\nexpected: a registry, with or without a path, without https://, e.g. registry.lab.example:5000/mirror\nseen: ${images}\nnext: replace it with an expected value`,
    ]);
  },
);
