import { describe, expect, test } from 'vitest';

import {
  describeFile,
  fieldDetails,
  textDiff,
  withoutSecrets,
} from '../../../../src/fleet/steps/description.ts';

const path = '/etc/x';
const shown = (before: string | undefined, after: string) =>
  textDiff({ path, before, exists: true, after }).lines;

describe('the description of a changed text', () => {
  test('is the complete text, without keys, if it is new', () => {
    expect(describeFile({ path, before: undefined, exists: false, after: 'a=1\n' })).toEqual({
      marker: 'add',
      texts: [{ path, lines: ['@@ -0,0 +1,1 @@', '+a=1'] }],
    });
  });

  test('reports a text that could not be read', () => {
    expect(describeFile({ path, before: undefined, exists: true, after: 'a=1\n' })).toEqual({
      marker: 'change',
      details: [],
      texts: [{ path, lines: ['the present content is too long or not text; the whole file is replaced'] }],
    });
  });

  test('never shows a secret, nor whether it changed', () => {
    expect(shown('a_token=one\n', 'a_token=two\n')).toEqual([
      'the lines that differ may hold secrets and are not shown',
    ]);
    expect(JSON.stringify(shown('b=1\na_token=one\n', 'b=2\na_token=two\n'))).not.toMatch(/one|two/);
  });

  test('is limited in length, without control characters', () => {
    const many = 'x\n'.repeat(9000);
    expect(shown(many, '')).toHaveLength(2001);
    expect(shown(many, '').at(-1)).toBe('and 7001 more lines');
    expect(shown(`${'y'.repeat(9000)}\n`, '')[1]?.length).toBeLessThan(600);
    expect(shown('a\u001B[2Jb\rc\n', '')[1]).toBe('-ab c');
  });
});

describe('the keys of a text', () => {
  test.each([
    [
      '[Unit]\nA=1\nB=2\n[Service]\nA=1\n',
      '[Unit]\nA=1\n[Service]\nA=2\nC=3\n',
      ['~ Service.A: 1 → 2', '+ Service.C: 3', '- Unit.B: 2'],
    ],
    ['Types: deb\nURIs: a\n', 'Types: deb\nURIs: b\n', ['~ URIs: a → b']],
    ['E=1\nE=2\n', 'E=1\n', ['~ E: 1; 2 → 1']],
    [
      '{"a":{"b":1,"c":[1]}}',
      '{"a":{"b":2,"c":[1,2],"d":{}}}',
      ['~ a.b: 1 → 2', '~ a.c: [1] → [1,2]', '+ a.d: {}'],
    ],
    ['not = json {', '{}', ['- not: json {']],
    ['# a comment\n', '', []],
  ])('%j → %j', (before, after, expected) => {
    const signs = { add: '+', change: '~', remove: '-' };
    expect(fieldDetails({ before, after }).map(({ marker, text }) => `${signs[marker]} ${text}`)).toEqual(
      expected,
    );
  });

  test('are limited in depth and number', () => {
    const deep = `${'{"a":'.repeat(3000)}1${'}'.repeat(3000)}`;
    expect(fieldDetails({ before: deep, after: '{}' })).toHaveLength(1);
    const many = Array.from({ length: 5000 }, (_, at) => `k${at}=1`).join('\n');
    expect(fieldDetails({ before: many, after: '' }).at(-1)?.text).toBe('and 4850 more');
  });
});

describe('a file that another program may have changed', () => {
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
