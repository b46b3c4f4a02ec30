import { describe, expect, test } from 'vitest';

import { imageOfStep, registryProblem } from '../../../../src/manager/image/registry-fault.ts';

const image = 'registry.lab:5000/team/agent:7';

/** Messages of dockerd 20.10 and newer, containerd and registries, with the codes for a pull with and without a user. */
const messages: readonly (readonly [code: string, without: string, seen: string])[] = [
  [
    'registry.password',
    'registry.password',
    'Head "https://registry.lab:5000/v2/team/agent/manifests/7": unauthorized: authentication required',
  ],
  [
    'registry.password',
    'registry.password',
    'Head "https://registry.lab:5000/v2/": no basic auth credentials',
  ],
  ['registry.password', 'registry.password', 'unauthorized: incorrect username or password'],
  [
    'registry.password',
    'registry.password',
    'failed to resolve reference "x": failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized',
  ],
  [
    'registry.denied',
    'registry.password',
    "pull access denied for team/agent, repository does not exist or may require 'docker login': denied: requested access to the resource is denied",
  ],
  [
    'registry.denied',
    'registry.password',
    'pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed',
  ],
  ['registry.denied', 'registry.password', 'unexpected status from HEAD request: 403 Forbidden'],
  [
    'registry.not-found',
    'registry.not-found',
    'manifest for registry.lab:5000/team/agent:7 not found: manifest unknown: manifest unknown',
  ],
  ['registry.not-found', 'registry.not-found', 'name unknown: repository name not known to registry'],
  [
    'registry.not-found',
    'registry.not-found',
    'no matching manifest for linux/arm64/v8 in the manifest list entries',
  ],
  [
    'registry.unreachable',
    'registry.unreachable',
    'Get "https://registry.lab:5000/v2/": dial tcp: lookup registry.lab on 10.0.0.1:53: no such host',
  ],
  [
    'registry.unreachable',
    'registry.unreachable',
    'Get "https://registry.lab:5000/v2/": dial tcp 10.0.0.5:5000: connect: connection refused',
  ],
  [
    'registry.unreachable',
    'registry.unreachable',
    'Get "https://registry.lab:5000/v2/": net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)',
  ],
  [
    'registry.unreachable',
    'registry.unreachable',
    'Get "https://registry.lab:5000/v2/": net/http: TLS handshake timeout',
  ],
  [
    'registry.certificate',
    'registry.certificate',
    'Get "https://registry.lab:5000/v2/": x509: certificate signed by unknown authority',
  ],
  [
    'registry.plain-http',
    'registry.plain-http',
    'Get "https://registry.lab:5000/v2/": http: server gave HTTP response to HTTPS client',
  ],
  [
    'registry.limit',
    'registry.limit',
    'toomanyrequests: You have reached your pull rate limit. You may increase the limit by authenticating',
  ],
];

describe("a registry's refusal", () => {
  test.each(messages)('%s (%s without a user): %s', (code, without, seen) => {
    const problem = registryProblem(seen, { image, user: 'ci' });
    expect(problem).toMatchObject({ code, seen });
    expect(`${problem?.what}`).toContain('registry.lab:5000');
    expect(`${problem?.what}`).toContain(image);
    expect(problem?.next).toMatch(/^[a-z]/);
    expect(problem?.expected).toBeDefined();
    expect(registryProblem(seen, { image, user: undefined })?.code).toBe(without);
  });

  test('a wrong password names the user, the place in the inventory and the command', () => {
    expect(registryProblem('unauthorized: authentication required', { image, user: 'ci' })).toMatchObject({
      what: `registry.lab:5000 rejected the password of user ci: ${image}`,
      next: 'correct registries: registry.lab:5000: in the inventory, then run `azp-fleet provision`',
    });
  });

  test('a message that is not about a registry has no registry problem', () => {
    expect(registryProblem('no space left on device', { image, user: 'ci' })).toBeUndefined();
  });
});

test.each([
  ['Step 1/3 : FROM registry.lab/base:1', 'registry.lab/base:1'],
  ['Step 2/9 : FROM --platform=linux/amd64 registry.lab/base:1 AS build', 'registry.lab/base:1'],
  ['Step 2/9 : FROM ${BASE} AS agent', 'docker.io/nvidia/cuda:13'],
  ['Step 2/9 : FROM $BASE', 'docker.io/nvidia/cuda:13'],
  ['Step 4/9 : COPY --chown=1:1 --from=registry.lab/tools:2 /a /b', 'registry.lab/tools:2'],
  ['Step 5/9 : RUN curl https://registry.lab/x', undefined],
  [undefined, undefined],
])('the image that %s starts from', (heading, expected) => {
  expect(imageOfStep(heading, { BASE: 'docker.io/nvidia/cuda:13' })).toBe(expected);
});
