import { describe, expect, test } from 'vitest';

import { withoutSecrets } from '../../../../../src/fleet/steps/told/without-secrets.ts';

describe('a file that somebody else may have written to', () => {
  test.each([
    [
      '{ "http-proxy": "http://ann:s3cret@proxy.lab:3128/" }',
      '{ "http-proxy": "http://***@proxy.lab:3128/" }',
    ],
    ['URIs: https://key@mirror.lab/debian', 'URIs: https://***@mirror.lab/debian'],
    ['  "token" : "s3c\\"ret",', '  "token" : "***",'],
    ['"registry_password":"s3cret"', '"registry_password":"***"'],
    ['Environment="GITHUB_TOKEN=s3cret" A=b', 'Environment="GITHUB_TOKEN=*** A=b'.replace('***', '***"')],
    ['api-key = s3cret', 'api-key = ***'],
    [
      '-----BEGIN RSA PRIVATE KEY-----\ns3c\nret\n-----END RSA PRIVATE KEY-----\n',
      '-----BEGIN RSA PRIVATE KEY-----\n***\n-----END RSA PRIVATE KEY-----\n',
    ],
    ['-----BEGIN PRIVATE KEY-----\ns3cret', '-----BEGIN PRIVATE KEY-----\n***\n'],
  ])('%j shows no secret', (text, shown) => {
    expect(withoutSecrets(text)).toBe(shown);
    expect(withoutSecrets(text)).not.toMatch(/s3c/);
  });

  test.each([
    'LoadCredential=token:/etc/azp-fleet/token',
    'Signed-By: /etc/apt/keyrings/azp-fleet-docker.asc',
    '"reference": "registry.lab/team@sha256:0a1b"',
    '"agentUrl": "https://download.agent.dev.azure.com/agent/4.276.0/a.tar.gz"',
    '"tokens": 3',
  ])('%j has none', (text) => {
    expect(withoutSecrets(text)).toBe(text);
  });
});
