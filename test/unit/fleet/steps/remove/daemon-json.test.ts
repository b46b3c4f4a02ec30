// daemon.json without our settings, also after changes of the owner.
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';

import {
  type DaemonConfig,
  parseDaemonJson,
  renderDaemonJson,
  withEngineSettings,
  withGpuSettings,
} from '../../../../../src/fleet/steps/docker/daemon-json.ts';
import { withoutOurSettings } from '../../../../../src/fleet/steps/remove/daemon-json.ts';

const proxy = { http: 'http://proxy:3128', https: 'http://proxy:3128', noProxy: ['.lab'] };
const written = (origin: DaemonConfig, version = '29.7.2') =>
  withGpuSettings(withEngineSettings(origin, { swarm: false, proxy }), version);
const nothing = undefined;
const whole = renderDaemonJson(written({}));
const theirs = '{\n  "data-root": "/data/docker", "log-opts": {"max-size": "10m"}\n}';

describe('daemon.json without our settings', () => {
  test.each<[string, string | undefined, string | undefined, ReturnType<typeof withoutOurSettings>]>([
    ['no file', nothing, nothing, nothing],
    ['a file that azp-fleet wrote alone: none', whole, nothing, { text: nothing }],
    ['the same, written twice', renderDaemonJson(written({}, '27.0.0')), whole, { text: nothing }],
    ["an owner's file that azp-fleet never wrote", '{"live-restore": true}', nothing, nothing],
    ['a file that is not JSON', '{', nothing, nothing],
    [
      'the exact previous file',
      renderDaemonJson(written(parseDaemonJson(theirs) ?? {})),
      theirs,
      { text: theirs },
    ],
    [
      'keeps later settings of the owner',
      renderDaemonJson({
        ...written({ 'data-root': '/d' }),
        'log-driver': 'journald',
        'live-restore': false,
      }),
      '{"data-root": "/d"}',
      { text: renderDaemonJson({ 'data-root': '/d', 'live-restore': false, 'log-driver': 'journald' }) },
    ],
    [
      'keeps another runtime',
      renderDaemonJson(written({ runtimes: { kata: { path: 'kata' } } })),
      '{"runtimes": {"kata": {"path": "kata"}}}',
      { text: '{"runtimes": {"kata": {"path": "kata"}}}' },
    ],
    [
      "the owner's proxy is restored",
      renderDaemonJson(written({ proxies: { 'http-proxy': 'a' } })),
      '{"proxies": {"http-proxy": "a"}}',
      { text: '{"proxies": {"http-proxy": "a"}}' },
    ],
  ])('%s', (_, current, before, expected) => {
    const found = withoutOurSettings({ current, before }, true);
    const parsed = (then: typeof found) => then && { ...then, config: parseDaemonJson(then.text) };
    expect(parsed(found)?.config).toEqual(parsed(expected)?.config);
    if (before !== undefined || expected?.text === undefined)
      expect(found === undefined).toBe(expected === undefined);
  });

  test('keeps the runtime until the toolkit is removed', () => {
    const first = withoutOurSettings({ current: whole, before: undefined }, false);
    expect(parseDaemonJson(first?.text)).toEqual({
      runtimes: { nvidia: { args: [], path: 'nvidia-container-runtime' } },
    });
    expect(withoutOurSettings({ current: first?.text, before: undefined }, true)).toEqual({
      text: undefined,
    });
  });
});

it('restores any previous file', () => {
  const names = fc.constantFrom(
    'data-root',
    'live-restore',
    'log-opts',
    'runtimes',
    'features',
    'bip',
    'proxies',
  );
  const values = fc.oneof(
    fc.boolean(),
    fc.string(),
    fc.dictionary(fc.constantFrom('cdi', 'max-size', 'kata', 'http-proxy'), fc.string()),
  );
  fc.assert(
    fc.property(fc.dictionary(names, values, { minKeys: 1 }), (origin) => {
      const before = JSON.stringify(origin);
      const current = renderDaemonJson(written(origin));
      const then = withoutOurSettings({ current, before }, true);
      if (then !== undefined) expect(parseDaemonJson(then.text) ?? {}).toEqual(origin);
    }),
  );
});
