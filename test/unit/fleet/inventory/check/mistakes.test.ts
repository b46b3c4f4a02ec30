import { describe, expect, test } from 'vitest';

import { mistakes, mistakesIn } from '../fixture.ts';

/** Title, the inventory from line 3 on, and the messages. */
const cases: readonly (readonly [title: string, text: string, ...expected: string[]])[] = [
  [
    'an unknown key, with the nearest known one',
    'defaults: { pool: p }\nhosts:\n  a: { adress: 192.0.2.1 }\n',
    'inventory.yaml:5:8: hosts.a.adress is not a known key\nnext: did you mean "address"?',
  ],
  [
    'an unknown key without a similar one',
    'defaults: { pool: p }\nhosts: { a: { docker: { flavour: x, version: "1.2.3" } } }\n',
    'inventory.yaml:4:25: hosts.a.docker.flavour is not a known key\nexpected: one of version\nnext: use one of these, or remove it',
  ],
  [
    'an unknown key inside a list of slots',
    'hosts:\n  a:\n    pool: p\n    agents:\n      - { gpu: [0] }\n',
    'inventory.yaml:7:11: hosts.a.agents.0.gpu is not a known key\nnext: did you mean "gpus"?',
  ],
  [
    'a version that YAML reads as a number',
    'defaults: { pool: p, docker: { version: 29.10 } }\nhosts: { a: {} }\n',
    'inventory.yaml:3:41: defaults.docker.version has an invalid value\nexpected: a version as text, e.g. "29.7.2"\nseen: the number 29.10\nnext: put it in quotes: "29.10"',
  ],
  [
    'a driver branch that YAML reads as a number',
    'defaults: { pool: p, driver: { branch: 580 } }\nhosts: { a: {} }\n',
    'inventory.yaml:3:40: defaults.driver.branch has an invalid value\nexpected: a version as text, e.g. "580"\nseen: the number 580\nnext: put it in quotes: "580"',
  ],
  [
    'a port out of range',
    'defaults: { pool: p }\nhosts: { a: { port: 70000 } }\n',
    'inventory.yaml:4:21: hosts.a.port has an invalid value\nexpected: a port (a whole number from 1 to 65535)\nseen: the number 70000\nnext: replace it with an expected value',
  ],
  [
    'a rate without its unit',
    'defaults: { pool: p }\nhosts: { a: {} }\nuploads: { bandwidth: 50M }\n',
    'inventory.yaml:5:23: uploads.bandwidth has an invalid value\nexpected: a rate such as 50MiB/s, 20MB/s or 400Mbit/s, at least 16KiB/s\nseen: 50M\nnext: replace it with an expected value',
  ],
  [
    'a path that is not absolute',
    'defaults: { pool: p, datasets: { X: { host: data, container: /d } } }\nhosts: { a: {} }\n',
    'inventory.yaml:3:45: defaults.datasets.X.host has an invalid value\nexpected: an absolute path\nseen: data\nnext: replace it with an expected value',
  ],
  [
    'a volume without its variable',
    'defaults: { pool: p, volumes: ["/data:/data"] }\nhosts: { a: {} }\n',
    'inventory.yaml:3:32: defaults.volumes.0 has an invalid value\nexpected: host:container:ENV, e.g. /data/models:/models:MODELS\nseen: /data:/data\nnext: replace it with an expected value',
  ],
  [
    'a host name that cannot be part of an agent name',
    'defaults: { pool: p }\nhosts: { "a/b": {} }\n',
    'inventory.yaml:4:10: hosts has an invalid key\nexpected: a name: letters, digits, ".", "_", "-", at most 63 of them\nseen: a/b\nnext: rename it',
  ],
  [
    'a registry by its address',
    'defaults: { pool: p }\nhosts: { a: {} }\nregistries: { "https://registry.lab": { user: ci, secret: { env: R } } }\n',
    'inventory.yaml:5:15: registries has an invalid key\nexpected: a registry as in image names: HOST or HOST:PORT, without https:// and path\nseen: https://registry.lab\nnext: rename it',
  ],
  [
    'a registry without its password',
    'defaults: { pool: p }\nhosts: { a: {} }\nregistries: { registry.lab: { user: ci } }\n',
    'inventory.yaml:5:15: registries.registry.lab.secret is missing\nexpected: where the secret is found: { env: NAME }, { file: PATH }, { cmd: "COMMAND" } or { prompt: true }\nnext: add `secret:` under registries.registry.lab',
  ],
  [
    'a literal password, which is not repeated',
    'defaults: { pool: p }\nhosts: { a: {} }\nregistries: { "registry.lab:5000": { user: ci, secret: hunter2 } }\n',
    'inventory.yaml:5:56: registries.registry.lab:5000.secret has an invalid value\nexpected: where the secret is found: { env: NAME }, { file: PATH }, { cmd: "COMMAND" } or { prompt: true }\nseen: a literal value (not shown)\nnext: replace it with an expected value',
  ],
  [
    'a variable that is not set',
    'defaults: { pool: p }\nhosts:\n  a:\n    address: "gpu-${SITE}-${RACK:-b12}"\n',
    'inventory.yaml:6:19: the environment variable SITE is not set\nnext: export SITE=…, or give a default: ${SITE:-value}',
  ],
  [
    'the same unset variable twice in one value: once',
    'defaults: { pool: p }\nhosts: { a: { address: "${X}.${X}" } }\n',
    'inventory.yaml:4:25: the environment variable X is not set\nnext: export X=…, or give a default: ${X:-value}',
  ],
  [
    'no pool',
    'hosts: { a: {} }\n',
    'inventory.yaml:3:13: a has no pool\nexpected: a pool in defaults, in one of its groups or on the host\nnext: add `pool: NAME` under `defaults:`',
  ],
  ['no host', 'hosts: {}\n', 'inventory.yaml:3:8: the inventory has no hosts\nnext: add one under `hosts:`'],
  [
    'a number in quotes',
    'hosts: { a: { pool: p, gpus: "8" } }\n',
    'inventory.yaml:3:30: hosts.a.gpus has an invalid value\nexpected: a number of GPUs (a whole number from 0 to 64), or e.g. { ignore: ["10de:128b"] }\nseen: "8"\nnext: remove the quotes: 8',
  ],
  [
    'a flag in quotes, and a number of agents',
    'hosts: { a: { pool: p, share: "true", agents: "2" } }\n',
    'inventory.yaml:3:31: hosts.a.share has an invalid value\nexpected: true or false\nseen: "true"\nnext: remove the quotes: true',
    'inventory.yaml:3:47: hosts.a.agents has an invalid value\nexpected: one-per-gpu, a number of agents (0 to 256), or a list of slots\nseen: "2"\nnext: remove the quotes: 2',
  ],
  [
    'a list instead of a map',
    'defaults: { pool: p }\nhosts: { a: { labels: [b12] } }\n',
    'inventory.yaml:4:23: hosts.a.labels has an invalid value\nexpected: labels by name, e.g. { room: b12 }\nseen: a list\nnext: replace it with an expected value',
  ],
  [
    'text with control characters, and a long one',
    `defaults: { pool: p }\nhosts: { a: { port: "\\e[31m${'x'.repeat(200)}" } }\n`,
    `inventory.yaml:4:21: hosts.a.port has an invalid value\nexpected: a port (a whole number from 1 to 65535)\nseen: \\u001b[31m${'x'.repeat(62)}…\nnext: replace it with an expected value`,
  ],
  [
    'no hosts',
    'projects: [x]\n',
    'inventory.yaml:1:1: hosts is missing\nexpected: hosts by name, e.g. { h200-1: {} }\nnext: add `hosts:` to the file',
  ],
  [
    'more agents than GPUs',
    'hosts: { a: { pool: p, gpus: 2, agents: 4 } }\n',
    'inventory.yaml:3:41: a has more agents than GPUs\nexpected: at most 2 agents, or share: true\nseen: agents: 4, gpus: 2\nnext: add `share: true` if jobs may share a GPU',
  ],
  [
    'two slots with one GPU',
    'hosts: { a: { pool: p, agents: [{ gpus: [0] }, { gpus: [0] }] } }\n',
    'inventory.yaml:3:56: slots 0 and 1 of a both have GPU 0\nnext: add `share: true` to both if their jobs may share it',
  ],
  [
    'a slot with a GPU that the host lacks',
    'hosts: { a: { pool: p, gpus: 1, agents: [{ gpus: [1] }] } }\n',
    'inventory.yaml:3:50: slot 0 of a has a GPU that the host does not have\nexpected: an index from 0 to 0\nseen: 1\nnext: correct the index, or `gpus` of the host',
  ],
  [
    'a slot with one GPU twice',
    'hosts: { a: { pool: p, agents: [{ name: x, gpus: [0, 0] }] } }\n',
    'inventory.yaml:3:50: slot x of a has GPU 0 twice\nnext: list each GPU once',
  ],
  [
    'a slot with mode: host whose registration needs an image',
    'hosts: { a: { pool: p, registration: config, agents: [{ gpus: [0], mode: host }] } }\n',
    'inventory.yaml:3:74: slot 0 of a has mode: host, which registration: config does not support\nnext: use `registration: rest` for this host, or `mode: container` for the slot',
  ],
  [
    'slots with their own names',
    'hosts: { a: { pool: p, agents: [{ gpus: [0] }, { name: x, gpus: [0] }, { name: x }] } }\n',
    'inventory.yaml:3:65: slots 0 and x of a both have GPU 0\nnext: add `share: true` to both if their jobs may share it',
    'inventory.yaml:3:80: a has two slots named x\nnext: give each slot a unique name',
  ],
  [
    'one name for the agents of several slots',
    'hosts: { a: { pool: p, agents: 2, share: true, agentName: "{host}" } }\n',
    'inventory.yaml:3:59: a has several agents, but agentName gives all of them the same name\nseen: agentName: {host}\nnext: put {host} and {slot} into agentName, or choose another pool',
  ],
  [
    'one name for the agents of many hosts: one mistake',
    'defaults: { pool: p, gpus: 8, agentName: gpu }\nhosts: { a: {}, b: {}, c: {}, d: { pool: q, gpus: 1 } }\n',
    'inventory.yaml:3:42: a, b and c would all have an agent gpu in the pool p\nseen: agentName: gpu\nnext: put {host} and {slot} into agentName, or choose another pool',
  ],
  [
    'hosts whose names and slots make the same agent name',
    'defaults: { pool: p }\nhosts: { a: { agents: [{ name: 1-0 }, { name: 1-1 }] }, a-1: { agents: 2, share: true } }\n',
    'inventory.yaml:4:57: a and a-1 would both have an agent a-1-0 in the pool p\nseen: agentName: {host}-{slot}\nnext: put {host} and {slot} into agentName, or choose another pool',
  ],
  [
    'agents of one name',
    'hosts:\n  a: { pool: p, agents: 1, agentName: gpu }\n  b: { pool: P, agents: 1, agentName: gpu }\n',
    'inventory.yaml:5:39: a and b would both have an agent gpu in the pool P\nseen: agentName: gpu\nnext: put {host} and {slot} into agentName, or choose another pool',
  ],
  [
    'a dataset variable that the container runtime uses',
    'defaults: { pool: p, volumes: ["/d:/d:NVIDIA_VISIBLE_DEVICES"] }\nhosts: { a: {} }\n',
    'inventory.yaml:3:31: the environment variable NVIDIA_VISIBLE_DEVICES is reserved in agent containers\nnext: choose another name for the dataset',
  ],
  ...[
    'LC_ALL',
    'SSL_CERT_FILE',
    'GIT_SSL_CAINFO',
    'CURL_CA_BUNDLE',
    'REQUESTS_CA_BUNDLE',
    'NODE_EXTRA_CA_CERTS',
  ].map((name): [string, string, string] => [
    `a dataset named ${name}, a variable of the agent`,
    `defaults: { pool: p, datasets: { ${name}: { host: /d, container: /d } } }\nhosts: { a: {} }\n`,
    `inventory.yaml:3:${36 + name.length}: the environment variable ${name} is reserved in agent containers\nnext: choose another name for the dataset`,
  ]),
  [
    'two folders under one variable',
    'defaults: { pool: p, volumes: ["/d:/d:X", "/e:/e:X"] }\nhosts: { a: {} }\n',
    'inventory.yaml:3:43: X is used for two folders\nnext: use a different variable for each folder',
  ],
  [
    'a group with an unknown host',
    'defaults: { pool: p }\ngroups: { g: { hosts: [h200-11] } }\nhosts: { h200-1: {} }\n',
    'inventory.yaml:4:24: there is no host h200-11\nnext: did you mean "h200-1"?',
  ],
  [
    'groups that contain each other',
    'defaults: { pool: p }\ngroups: { g: { children: [h] }, h: { children: [g] } }\nhosts: { a: {} }\n',
    'inventory.yaml:4:27: g and h contain each other\nnext: remove one of them from the other',
    'inventory.yaml:4:49: h and g contain each other\nnext: remove one of them from the other',
  ],
  [
    'a name that is a host and a group',
    'defaults: { pool: p }\ngroups: { a: {} }\nhosts: { a: {} }\n',
    'inventory.yaml:4:14: a is a group and a host\nnext: rename one of them: --limit cannot distinguish them',
  ],
  [
    'a password in a URL',
    'defaults: { pool: p }\nhosts: { a: {} }\nproxy: { http: "http://me:hunter2@proxy:3128" }\n',
    'inventory.yaml:5:16: proxy.http has an invalid value\nexpected: a URL without user and password\nseen: http://***@proxy:3128\nnext: replace it with an expected value',
  ],
  [
    'an agent over plain http without a digest',
    'defaults: { pool: p, agent: { version: "4.300.0" } }\nhosts: { a: {} }\nmirrors: { agent: "http://mirror.lab" }\n',
    'inventory.yaml:5:19: the agent is downloaded over plain http without a digest\nexpected: an https mirror, or agent.sha256 for the architectures of the hosts\nseen: no digest for a\nnext: add `agent: { sha256: { x64: … } }` under `defaults:` (the release notes of the agent list it)',
  ],
];

describe('a mistake is reported with its place, what was expected and the next action', () => {
  test.each(cases)('%s', (_, text, ...expected) => {
    expect(mistakes(text)).toEqual(expected);
  });
});

test('all mistakes are reported at once, in the order of the file', () => {
  const text = 'defaults: { pol: p }\nhosts:\n  a: { port: 0, address: "${NOPE}" }\n  b: { gpus: many }\n';
  expect(mistakes(text).map((problem) => problem.split(': ')[0])).toEqual([
    'inventory.yaml:3:13',
    'inventory.yaml:5:14',
    'inventory.yaml:5:27',
    'inventory.yaml:6:14',
  ]);
});

test.each([
  ['a list', '- a\n', 'inventory.yaml:1:1: the inventory has an invalid value', 'seen: a list'],
  ['one word', 'hello\n', 'inventory.yaml:1:1: the inventory has an invalid value', 'seen: hello'],
])('%s is no inventory', (_, text, what, seen) => {
  const expected = 'expected: organization, token, hosts and so on, each with its value';
  expect(mistakesIn(text)).toEqual([
    [what, expected, seen, 'next: replace it with an expected value'].join('\n'),
  ]);
});

test('a missing organization is reported with an example', () => {
  expect(mistakesIn('token: { env: T }\nhosts: { a: { pool: p } }\n')).toEqual([
    'inventory.yaml:1:1: organization is missing\nexpected: the URL of your organization, e.g. https://dev.azure.com/NAME\nnext: add `organization:` to the file',
  ]);
});

test('a project in the organization URL is rejected with the right form', () => {
  const text =
    'organization: https://dev.azure.com/example/vision\ntoken: { env: T }\nhosts: { a: { pool: p } }\n';
  const [problem] = mistakesIn(text);
  expect(problem).toContain('inventory.yaml:1:15: ');
  expect(problem).toContain('write https://dev.azure.com/example, and name projects under "projects:"');
});

describe('credentials', () => {
  const rest = 'organization: https://dev.azure.com/example\nhosts: { a: { pool: p } }\n';
  const reference =
    'where the secret is found: { env: NAME }, { file: PATH }, { cmd: "COMMAND" } or { prompt: true }';

  test('none', () => {
    expect(mistakesIn(rest)).toEqual([
      'inventory.yaml:1:1: token is missing\nexpected: where the token is found, never the token itself\nnext: add `token: { env: AZP_TOKEN }`',
    ]);
  });

  test('two sources', () => {
    expect(mistakesIn(`${rest}token: { env: A, cmd: b }\n`)).toEqual([
      `inventory.yaml:3:8: token has an invalid value\nexpected: ${reference}, exactly one of them\nseen: keys env, cmd\nnext: replace it with an expected value`,
    ]);
  });

  test('a token and a service principal', () => {
    const both = 'token: { env: A }\nservicePrincipal: { clientId: a, tenantId: b, secret: { env: C } }\n';
    expect(mistakesIn(rest + both)).toEqual([
      'inventory.yaml:4:19: token and servicePrincipal are both set\nexpected: one of them\nnext: remove one of them',
    ]);
  });

  test('a literal instead of a reference is not repeated in the message', () => {
    expect(mistakesIn(`${rest}token: hunter2\n`)).toEqual([
      `inventory.yaml:3:8: token has an invalid value\nexpected: ${reference}\nseen: a literal value (not shown)\nnext: replace it with an expected value`,
    ]);
  });

  test.each([
    ['a personal access token of the old form', 'abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst'],
    ['a personal access token of the new form', `${'Ab3'.repeat(25)}AAZDOx1Y2`],
  ])('%s is rejected anywhere, also in a variable', (_, literal) => {
    for (const [text, env] of [
      [`projects: ["${literal}"]\n`, {}],
      ['projects: ["${LEAK}"]\n', { LEAK: literal }],
    ] as const) {
      const [problem] = mistakesIn(`${rest}token: { env: T }\n${text}`, env);
      expect(problem).toContain('inventory.yaml:4:12: this looks like a literal token or key');
      expect(problem).not.toContain(literal);
    }
  });
});
