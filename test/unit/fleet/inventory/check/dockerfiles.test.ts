import { describe, expect, test } from 'vitest';

import { fleet, mistakes } from '../fixture.ts';

const shared = '{ folder: images/vision, builder: a, push: "registry.lab:5000/vision/agent" }';

describe('dockerfile', () => {
  test.each([
    ['dockerfile: images/vision', { folder: '/lab/images/vision' }],
    ['dockerfile: ~/vision', { folder: '/home/me/vision' }],
    ['dockerfile: { folder: images/vision }', { folder: '/lab/images/vision' }],
    [
      `dockerfile: ${shared}`,
      { folder: '/lab/images/vision', builder: 'a', push: 'registry.lab:5000/vision/agent' },
    ],
  ])('%s', (line, expected) => {
    const { hosts } = fleet(`defaults:\n  pool: p\n  ${line}\nhosts: { a: {}, b: {} }\n`);
    expect(hosts.map(({ dockerfile }) => dockerfile)).toEqual([expected, expected]);
  });

  test('replaces an image of a weaker layer, and is replaced by an image', () => {
    const { hosts } = fleet(
      'defaults: { pool: p, image: "r.lab/agent:1" }\ngroups: { g: { vars: { dockerfile: x }, hosts: [b, c] } }\nhosts: { a: {}, b: {}, c: { image: "r.lab/agent:2" } }\n',
    );
    expect(hosts.map(({ image, dockerfile }) => image ?? dockerfile?.folder)).toEqual([
      'r.lab/agent:1',
      '/lab/x',
      'r.lab/agent:2',
    ]);
    expect(hosts.filter(({ image, dockerfile }) => image !== undefined && dockerfile !== undefined)).toEqual(
      [],
    );
  });

  test.each([
    [
      'hosts: { a: { pool: p, image: x, dockerfile: y } }\n',
      'inventory.yaml:3:46: a has both an image and a dockerfile\nexpected: one of them: a dockerfile is built on top of the agent image that the hosts build\nnext: remove one of them, or set the base of the built image with baseImage',
    ],
    [
      'hosts: { a: { pool: p, dockerfile: { folder: y, builder: a } } }\n',
      'inventory.yaml:3:36: a has a builder, but no push\nexpected: builder and push together, or neither: then each host builds its own\nnext: add `push: REGISTRY/NAME`',
    ],
    [
      'hosts: { a: { pool: p, dockerfile: { folder: y, push: r.lab/x } } }\n',
      'inventory.yaml:3:36: a has a push, but no builder\nexpected: builder and push together, or neither: then each host builds its own\nnext: add `builder: HOST`',
    ],
    [
      'defaults: { pool: p, dockerfile: { folder: y, builder: h200-l, push: r.lab/x } }\nhosts: { h200-1: {} }\n',
      'inventory.yaml:3:56: there is no host h200-l\nnext: did you mean "h200-1"?',
    ],
    [
      'hosts: { a: { pool: p }, b: { pool: p, dockerfile: { folder: y, builder: a, push: r.lab/x } } }\n',
      'inventory.yaml:3:74: a builds the image of b, but has a different dockerfile\nexpected: the same folder, builder and push on both\nnext: give a the same dockerfile, e.g. in the defaults or a group of both',
    ],
    [
      'hosts: { a: { pool: p, dockerfile: { folder: y, builder: a, push: "r.lab/x:1" } } }\n',
      'inventory.yaml:3:67: hosts.a.dockerfile.push has an invalid value\nexpected: a repository of a registry, without a tag, e.g. registry.lab.example/vision/agent\nseen: r.lab/x:1\nnext: replace it with an expected value',
    ],
    [
      'hosts: { a: { pool: p, dockerfile: 5 } }\n',
      'inventory.yaml:3:36: hosts.a.dockerfile has an invalid value\nexpected: a folder with a Dockerfile, e.g. ./images/vision, or { folder, builder, push }\nseen: the number 5\nnext: put it in quotes: "5"',
    ],
  ])('%s', (text, expected) => {
    expect(mistakes(text)).toEqual([expected]);
  });
});
