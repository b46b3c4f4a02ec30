// The page of `status --html`, without a browser: what it shows and escapes, and that it needs nothing else.
// test/lab/long/status-page.test.ts opens it in Chromium.
import { createHash } from 'node:crypto';
import { Script } from 'node:vm';
import { describe, expect, test } from 'vitest';

import { type PageHost, statusPage } from '../../../../src/cli/render/status-page.ts';
import { pageColors, pageScript, pageStyle } from '../../../../src/cli/render/status-page-assets.ts';
import type { Series } from '../../../../src/fleet/status/series.ts';
import { foreignValue } from '../../../../src/shared/base/foreign-text.ts';
import { now } from '../../fleet/status/observation.ts';
import { busy, hot, answerOf, lost } from '../watch/fleet.ts';
import { hostDetail } from '../../../../src/fleet/status/detail.ts';
import { host } from '../../fleet/status/observation.ts';

const queues = [{ pool: 'gpu-lab', jobs: { waiting: 3, running: 2, oldestWaitS: 740 } }];
const options = { queues, jobs: undefined, problems: [], now };
const unreachable = lost('l40s-1', 0);
const hosts: readonly PageHost[] = [
  answerOf('h200-1', { slots: [busy('0', 'train resnet50'), busy('1', 'lint')] }),
  answerOf('h200-2', { health: hot }),
  {
    row: unreachable.kind === 'lost' ? unreachable.row : answerOf('x').row,
    detail: hostDetail({ host: { ...host, name: 'l40s-1' } }, () => undefined, now),
  },
];
const page = statusPage(hosts, options);
const textOf = (markup: string): string =>
  markup
    .replaceAll(/<(style|script)>[^]*?<\/\1>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

test('problems come first; each host has its verdict, cause, next action, jobs and GPUs', () => {
  const text = textOf(page);
  const order = ['Failed (1)', 'h200-2', 'Unreachable (1)', 'l40s-1', 'Healthy (1)', 'h200-1'].map((each) =>
    text.indexOf(each),
  );
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  expect(order).not.toContain(-1);
  for (const shown of [
    'the GPU has fallen off the bus',
    'Next: reboot the host',
    'Queue of pool gpu-lab: 3 jobs waiting up to 12 min; 2 running',
    'train resnet50',
    '0 H200 50 %, 40 °C, 1/140.4 GiB',
    'GPUs unknown: host not read',
    'history unknown: host not read',
  ])
    expect(text).toContain(shown);
});

test('all texts are escaped, also in attributes, and have no control characters', () => {
  const hostile = `</style><script>alert(1)</script><img src=x onerror=alert(1)>"' &\u202e\u001b[31m`;
  const evil = (value: PageHost): PageHost =>
    foreignValue(value, (text, key) =>
      ['state', 'since', 'at', 'uuid', 'severity'].includes(key) ? text : hostile + text,
    );
  const shown = statusPage(hosts.map(evil), {
    ...options,
    queues: [{ pool: hostile, unknown: hostile }],
    problems: [hostile],
  });
  expect(shown).not.toMatch(/<img|<script>alert|\u202e|\u001b/);
  expect(shown.match(/<script>/g)).toHaveLength(1);
  expect(shown).toContain('&lt;img src=x onerror=alert(1)&gt;&quot;&#39; &amp;');
  expect(unbalanced(shown)).toEqual([]);
});

test('only web addresses become links', () => {
  const linked = (link: string): string => {
    const [first] = hosts;
    if (first === undefined) throw new Error('no host');
    const slots = first.detail.slots.map((slot) => ({ ...slot, link }));
    return statusPage([{ ...first, detail: { ...first.detail, slots } }], options);
  };
  expect(linked('https://dev.azure.com/example/1?a=1&b=2')).toContain(
    'href="https://dev.azure.com/example/1?a=1&amp;b=2"',
  );
  expect(linked('javascript:alert(1)')).not.toContain('javascript:');
});

test('it requests nothing: its policy allows only its own style and script', () => {
  const [, policy = ''] = /Content-Security-Policy" content="([^"]*)"/.exec(page) ?? [];
  const sha = (text: string) => `&#39;sha256-${createHash('sha256').update(text).digest('base64')}&#39;`;
  expect(policy).toBe(
    `default-src &#39;none&#39;; img-src data:; style-src ${sha(pageStyle)}; script-src ${sha(pageScript)}; base-uri &#39;none&#39;; form-action &#39;none&#39;`,
  );
  expect(page).toContain(`<style>${pageStyle}</style>`);
  expect(page).toContain(`<script>${pageScript}</script>`);
  expect(page).not.toMatch(/\ssrc=|@import|url\(|<iframe|\sstyle=|\son[a-z]+=/);
  expect(() => new Script(pageScript)).not.toThrow();
});

describe('for screen readers', () => {
  test('the language, the title, a label of the filter, and names of lists and sections', () => {
    expect(page).toContain('<html lang="en">');
    expect(page).toMatch(/<title>3 hosts: 1 failed, 1 unreachable, 1 healthy<\/title>/);
    expect(page).toContain('<label for="filter">');
    expect(page.match(/<section /g)).toHaveLength(3);
    expect(page.match(/<ul class="gpus" aria-label="GPUs of /g)).toHaveLength(3);
  });

  test('every id is unique, and every reference has one', () => {
    const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const references = [...page.matchAll(/(?:aria-labelledby|aria-describedby|for|href)="#?([^":]*)"/g)];
    expect(references.map(([, id]) => id).filter((id) => !ids.includes(id))).toEqual([]);
  });

  test('the elements are balanced, and the headings have no gap', () => {
    expect(unbalanced(page)).toEqual([]);
    const levels = [...page.matchAll(/<h(\d)/g)].map(([, level]) => Number(level));
    expect(levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1)).toEqual([]);
  });
});

/** Returns elements that are not closed, or closed twice. */
function unbalanced(markup: string): string[] {
  const open: string[] = [];
  const wrong: string[] = [];
  const plain = markup.replaceAll(/<(style|script)>[^]*?<\/\1>/g, '');
  for (const [, close, name = '', selfClosed] of plain.matchAll(/<(\/?)([a-z]\w*)[^>]*?(\/?)>/g)) {
    if (['meta', 'link', 'input'].includes(name) || selfClosed === '/') continue;
    if (close === '') open.push(name);
    else if (open.pop() !== name) wrong.push(name);
  }
  return [...wrong, ...open];
}

describe('history', () => {
  const drawn = (history: PageHost['history'], gpu = 'GPU-1'): string => {
    const { row, detail } = answerOf('h200-1', { slots: [busy('0', 'lint')] });
    const slots = detail.slots.map((slot) => ({ ...slot, gpus: { value: [{ uuid: gpu }] } }));
    return statusPage([{ row, detail: { ...detail, slots }, ...(history && { history }) }], options);
  };
  const known = (values: Series, omitted = 0): PageHost['history'] => ({
    value: { series: new Map([['GPU-1', values]]), omitted },
  });

  test('a line for each stretch of known values, and its text', () => {
    const shown = drawn(known([0, 50, undefined, 100, undefined, 20, 30]));
    expect(shown).toContain('<path d="M0 100h.1L1 50M3 0h.1M5 80h.1L6 70"/>');
    expect(shown).toContain(
      'role="img" aria-label="Utilization in 24 hours: min 0 %, mean 40 %, max 100 %, last 30 %, 2 values unknown"',
    );
    expect(textOf(shown)).toContain('Line of a GPU: utilization from 0 to 100 % over the last 24 hours');
    expect(drawn(known([7, undefined]))).toContain('max 7 %, last unknown, 1 value unknown"');
  });

  test.each([[[]], [[undefined, undefined]], [[Number.NaN]]])('of %j there is no line', (values) => {
    const shown = drawn(known(values));
    expect(shown).not.toContain('<path');
    expect(textOf(shown)).toContain('history unknown: utilization not reported');
  });

  test.each<[string, PageHost['history'], string, string]>([
    ['a GPU without samples', known([1]), 'GPU-2', 'no history yet'],
    ['a GPU with the name of a method', known([1]), 'constructor', 'no history yet'],
    ['a GPU that may be left out', known([1], 3), 'GPU-2', 'history unknown: too many GPUs for one answer'],
    [
      'a MIG device',
      known([1]),
      'MIG-1',
      'history unknown: nvidia-smi reports no utilization of MIG devices',
    ],
    ['no answer', { unknown: '<b>no</b>\u001b[31m' }, 'GPU-1', 'history unknown: &lt;b&gt;no&lt;/b&gt;'],
    ['a host that was not read', undefined, 'GPU-1', 'history unknown: host not read'],
  ])('of %s', (_, history, gpu, text) => {
    const shown = drawn(history, gpu);
    expect(textOf(shown)).toContain(text);
    expect(shown).not.toMatch(/<path|\u001b/);
  });

  test('values beyond 0 to 100 stay in the picture', () => {
    expect(drawn(known([-5, 1e9]))).toContain('<path d="M0 100h.1L1 0"/>');
  });
});

/** The relative luminance of WCAG 2. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.039_28 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

describe.each([
  ['light', 0],
  ['dark', 1],
] as const)('%s', (_, shade) => {
  const texts = ['text', 'dim', 'link', 'good', 'warn', 'bad'] as const;
  test.each(texts)('%s has a contrast of 4.5 or more on both backgrounds', (name) => {
    for (const back of ['back', 'card'] as const)
      expect(contrast(pageColors[name][shade], pageColors[back][shade])).toBeGreaterThanOrEqual(4.5);
  });

  test('every color of a text is one of these', () => {
    const used = [...pageStyle.matchAll(/(?<![\w-])color:var\(--(\w+)\)/g)].map(([, name]) => name);
    expect(used.filter((name) => !texts.some((each) => each === name))).toEqual([]);
  });
});

test('300 hosts with 8 GPUs and a history take less than 10 MB', () => {
  const values = Array.from({ length: 96 }, (_, n) => n);
  const series = new Map([
    ['GPU-1', values],
    ['GPU-2', values],
  ]);
  const history = { value: { series, omitted: 0 } };
  const many = Array.from({ length: 300 }, (_, n) => ({ ...answerOf(`gpu-${n}`), history }));
  expect(statusPage(many, options).length * 4).toBeLessThan(10_000_000);
});
