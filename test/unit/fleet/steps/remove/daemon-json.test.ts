// daemon.json without our settings, after whatever has been done to it.
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

describe('what is to be there', () => {
  test.each<[string, string | undefined, string | undefined, ReturnType<typeof withoutOurSettings>]>([
    ['no file', nothing, nothing, nothing],
    ['a file that we made whole: none', whole, nothing, { text: nothing }],
    ['the same, written twice', renderDaemonJson(written({}, '27.0.0')), whole, { text: nothing }],
    ["an owner's file that azp-fleet never wrote", '{"live-restore": true}', nothing, nothing],
    ['a file that is no JSON', '{', nothing, nothing],
    [
      'what was there before, to the letter',
      renderDaemonJson(written(parseDaemonJson(theirs) ?? {})),
      theirs,
      { text: theirs },
    ],
    [
      'what its owner has set since stays',
      renderDaemonJson({
        ...written({ 'data-root': '/d' }),
        'log-driver': 'journald',
        'live-restore': false,
      }),
      '{"data-root": "/d"}',
      { text: renderDaemonJson({ 'data-root': '/d', 'live-restore': false, 'log-driver': 'journald' }) },
    ],
    [
      "another runtime beside NVIDIA's stays",
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

  test('a toolkit that stays keeps what Docker must know of it, and goes with it later', () => {
    const first = withoutOurSettings({ current: whole, before: undefined }, false);
    expect(parseDaemonJson(first?.text)).toEqual({
      runtimes: { nvidia: { args: [], path: 'nvidia-container-runtime' } },
    });
    expect(withoutOurSettings({ current: first?.text, before: undefined }, true)).toEqual({
      text: undefined,
    });
  });
});

it('brings back whatever there was', () => {
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
