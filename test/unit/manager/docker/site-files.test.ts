// Names and contents as read by the agent's VstsAgentWebProxy and AgentCertificateManager.
import { describe, expect, test } from 'vitest';
import { bundleFile, siteFiles } from '../../../../src/manager/docker/agent-setup.ts';
import { config } from '../../../support/manager-config.ts';

const files = (proxy: object, bundle?: string) =>
  Object.fromEntries(
    siteFiles(config({ proxy: { noProxy: [], ca: bundle !== undefined, ...proxy } }), '/azp', bundle).map(
      ({ name, content }) => [name, content],
    ),
  );

describe("the agent's files for its site", () => {
  test.each([
    ['none for a plain site', {}, {}],
    [
      'the https proxy for everything',
      { http: 'http://a:1', https: 'http://b:2' },
      { '.proxy': 'http://b:2\n' },
    ],
    ['the http proxy if it is the only one', { http: 'http://a:1' }, { '.proxy': 'http://a:1\n' }],
    [
      'exceptions as regular expressions',
      { https: 'http://b:2', noProxy: ['.lab.example', '*.site.example', '10.0.0.1'] },
      {
        '.proxy': 'http://b:2\n',
        '.proxybypass': 'lab\\.example\nsite\\.example\n10\\.0\\.0\\.1\n',
      },
    ],
    ['no exceptions without a proxy', { noProxy: ['10.0.0.1'] }, {}],
  ])('%s', (_, proxy, expected) => {
    expect(files(proxy)).toEqual(expected);
  });

  test('the certificates, and the file that makes the agent pass them to git', () => {
    expect(files({}, 'PEM\n')).toEqual({
      'ca-bundle.pem': 'PEM\n',
      '.certificates': '{"caCert":"/azp/ca-bundle.pem"}',
    });
    expect(bundleFile('PEM\n')).toEqual([{ name: 'ca-bundle.pem', content: 'PEM\n' }]);
  });
});
