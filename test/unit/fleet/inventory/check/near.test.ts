// Suggestions for a mistake, and a mistake that several hosts share.
import { describe, expect, test } from 'vitest';

import { mistakes } from '../fixture.ts';

const host = (key: string) => `defaults: { pool: p }\nhosts:\n  a:\n    ${key}\n`;

describe('an unknown key', () => {
  test.each([
    ['adress: 192.0.2.1', 'did you mean "address"?'],
    ['hostname: 192.0.2.1', 'did you mean "address"?'],
    ['ansible_host: 192.0.2.1', 'did you mean "address"?'],
    ['username: lab', 'did you mean "user"?'],
    ['password: x', 'did you mean "loginPassword"?'],
    [
      'flavor: open',
      'move it: flavor is valid under defaults.driver, hosts.NAME.driver or groups.NAME.vars.driver',
    ],
    ['projects: [x]', 'move it: projects is valid at the top level'],
  ])('%s', (key, next) => {
    const [name] = key.split(':');
    expect(mistakes(host(key))).toEqual([
      `inventory.yaml:6:5: hosts.a.${name} is not a known key\nnext: ${next}`,
    ]);
  });

  test('without a similar one lists the most common keys and the page', () => {
    expect(mistakes(host('zebra: 1'))).toEqual([
      'inventory.yaml:6:5: hosts.a.zebra is not a known key\nexpected: a key such as address, user, port, identityFile, jump, sshConfig\nnext: see docs/inventory.md for all keys, or remove it',
    ]);
  });

  test('at the top level, and a key of another level', () => {
    expect(mistakes('pool: p\nhosts: { a: { pool: p } }\n')).toEqual([
      'inventory.yaml:3:1: pool is not a known key\nnext: move it: pool is valid under defaults, hosts.NAME or groups.NAME.vars',
    ]);
    expect(mistakes('defaults: { pool: p, address: x }\nhosts: { a: {} }\n')).toEqual([
      'inventory.yaml:3:22: defaults.address is not a known key\nnext: move it: address is valid under hosts.NAME',
    ]);
  });
});

describe('a value with a typing mistake', () => {
  test.each([
    ['agents: per-gpu', 'did you mean "one-per-gpu"?'],
    ['agents: one-per-gpus', 'did you mean "one-per-gpu"?'],
    ['transport: openshh', 'did you mean "openssh"?'],
    ['network: require', 'did you mean "required"?'],
    ['driver: non', 'did you mean "none"?'],
    ['driver: branch:580', 'put a colon and a space after the key: branch: 580'],
    ['labels: { rack b12 }', 'rename it'],
    ['limits: memory 64g', 'put a colon and a space after the key: memory: 64g'],
  ])('%s', (key, next) => {
    expect(/^next: (.*)$/m.exec(mistakes(host(key))[0] ?? '')?.[1]).toBe(next);
  });

  test('a secret is not repeated', () => {
    expect(mistakes(host('sudoPassword: file hunter2')).join()).not.toContain('hunter2');
  });
});

describe('the same mistake at several hosts is reported once, with their names', () => {
  test.each([
    [
      'adress: x',
      'inventory.yaml:5:8: hosts.a.adress is not a known key (also: b, c)\nnext: did you mean "address"?',
    ],
    [
      'agents: per-gpu',
      'inventory.yaml:5:16: hosts.a.agents has an invalid value (also: b, c)\nexpected: one-per-gpu, a number of agents (0 to 256), or a list of slots\nseen: per-gpu\nnext: did you mean "one-per-gpu"?',
    ],
    [
      'datasets: { X: { host: /d } }',
      'inventory.yaml:5:20: hosts.a.datasets.X.container is missing (also: b, c)\nexpected: an absolute path\nnext: add `container:` under hosts.a.datasets.X',
    ],
    [
      'gpus: 1, agents: 2',
      'inventory.yaml:5:25: a has more agents than GPUs (also: b, c)\nexpected: at most 1 agents, or share: true\nseen: agents: 2, gpus: 1\nnext: add `share: true` if jobs may share a GPU',
    ],
  ])('%s', (key, expected) => {
    const hosts = ['a', 'b', 'c'].map((name) => `  ${name}: { ${key} }\n`).join('');
    expect(mistakes(`defaults: { pool: p }\nhosts:\n${hosts}`)).toEqual([expected]);
  });

  test('no pool', () => {
    expect(mistakes('hosts: { a: {}, b: {}, c: { pool: p } }\n')).toEqual([
      'inventory.yaml:3:13: a has no pool (also: b)\nexpected: a pool in defaults, in one of its groups or on the host\nnext: add `pool: NAME` under `defaults:`',
    ]);
  });

  test('three hundred hosts are folded', () => {
    const hosts = Array.from({ length: 300 }, (_, index) => `h${index}: { adress: x }`).join(', ');
    const [mistake = '', ...more] = mistakes(`defaults: { pool: p }\nhosts: { ${hosts} }\n`);
    expect(more).toEqual([]);
    expect(mistake).toContain('(also: h[1-299])');
  });

  test('different mistakes are reported separately', () => {
    expect(mistakes('defaults: { pool: p }\nhosts:\n  a: { port: 0 }\n  b: { port: 1.5 }\n')).toHaveLength(2);
  });

  test('a variable that is not set', () => {
    const text =
      'defaults: { pool: p }\nhosts:\n  a: { address: "a-${SITE}" }\n  b: { address: "b-${SITE}" }\n';
    expect(mistakes(text)).toEqual([
      'inventory.yaml:5:20: the environment variable SITE is not set (also: line 6)\nnext: export SITE=…, or give a default: ${SITE:-value}',
    ]);
  });
});
