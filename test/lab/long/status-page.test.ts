// The page of `status --html` in Debian's Chromium: narrow and wide, light and dark, and by keyboard. Real: the browser.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { ensureEngine } from '../../../practice/lab/engine.ts';
import { statusPage } from '../../../src/cli/render/status-page.ts';
import { now } from '../../unit/fleet/status/observation.ts';
import { busy, hot, answerOf } from '../../unit/cli/watch/fleet.ts';
import { Chromium } from '../support/chromium.ts';

let chromium: Chromium;
beforeAll(async () => {
  await ensureEngine();
  chromium = await Chromium.start('page');
});
afterAll(() => chromium.remove());

const values = Array.from({ length: 96 }, (_, n) => (n % 20 === 3 ? undefined : n));
const long = 'train-resnet50-with-a-name-that-is-longer-than-a-phone-is-wide-and-has-no-space-in-it';
const text = statusPage(
  [
    {
      ...answerOf('h200-1', { slots: [busy('0', long), busy('1', 'lint')] }),
      history: { value: { series: new Map([['GPU-1', values]]), omitted: 0 } },
    },
    answerOf('h200-2', { health: hot }),
    ...Array.from({ length: 30 }, (_, n) => answerOf(`l40s-${n}`)),
  ],
  {
    queues: [{ pool: 'gpu-lab', jobs: { waiting: 3, running: 2, oldestWaitS: 740 } }],
    jobs: undefined,
    problems: ['Azure DevOps does not answer'],
    now,
  },
);

/** Returns each text whose contrast with what is behind it is less than 4.5, as WCAG 2 computes it. */
const lowContrast = `(() => {
  const parts = (color) => color.match(/[\\d.]+/g).map(Number);
  const channel = (part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (element) => {
    const back = parts(getComputedStyle(element).backgroundColor);
    return back[3] === 0 ? behind(element.parentElement) : back;
  };
  const texts = [...document.body.querySelectorAll('*')].filter((element) =>
    [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== '') && element.offsetParent !== null);
  const low = texts.filter((element) => {
    const [dark, light] = [luminance(parts(getComputedStyle(element).color)), luminance(behind(element))].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05) < 4.5;
  });
  return { checked: texts.length, low: low.map((element) => element.outerHTML.slice(0, 100)) };
})()`;

/** Returns elements that a screen reader would meet without a name. */
const nameless = `[...document.querySelectorAll('input, a, section, article, nav, ul.gpus, [role=img]')].filter((element) => {
  const label = element.getAttribute('aria-label') ?? document.getElementById(element.getAttribute('aria-labelledby'))?.textContent;
  return ![label, element.labels?.[0]?.textContent, element.tagName === 'A' ? element.textContent : ''].some((name) => name?.trim());
}).map((element) => element.outerHTML.slice(0, 100))`;

const shownHosts = `[...document.querySelectorAll('.host')].filter((host) => host.offsetParent !== null).length`;
const focused = `(document.activeElement.querySelector('h3') ?? document.activeElement).textContent.trim().split(' ')[0]`;

const views = [380, 1400].flatMap((width) =>
  (['light', 'dark'] as const).map((scheme) => ({ width, height: 800, scheme })),
);

describe.each(views)('$width px, $scheme', (view) => {
  test('no complaint in the console, no request, nothing wider than the page, contrast, names', async () => {
    const page = await chromium.open(text, view);
    const { checked, low } = (await page.value(lowContrast)) as { checked: number; low: readonly string[] };
    expect(low).toEqual([]);
    expect(checked).toBeGreaterThan(200);
    expect(await page.value(nameless)).toEqual([]);
    expect(await page.value('document.documentElement.scrollWidth')).toBeLessThanOrEqual(view.width);
    const back = await page.value('getComputedStyle(document.body).backgroundColor');
    expect(back).toBe(view.scheme === 'dark' ? 'rgb(13, 17, 23)' : 'rgb(255, 255, 255)');
    expect(page.complaints).toEqual([]);
    expect(page.requests).toEqual([]);
  });
});

test('a picture shows the whole page', async () => {
  const page = await chromium.open(text, { width: 900, height: 600, scheme: 'light' });
  const png = await page.picture();
  expect(png.subarray(1, 4).toString()).toBe('PNG');
  // Without a scroll bar.
  expect(png.readUInt32BE(16)).toBeGreaterThan(880);
  expect(png.readUInt32BE(20)).toBeGreaterThan(2000);
});

test('by keyboard: filter, clear, and go from host to host', async () => {
  const page = await chromium.open(text, { width: 1400, height: 800, scheme: 'light' });
  expect(await page.value(shownHosts)).toBe(32);
  await page.press(...'/RESNET'.split(''));
  expect(await page.value(shownHosts)).toBe(1);
  expect(await page.value(`document.getElementById('found').textContent`)).toBe('1 of 32 hosts');
  expect(await page.value(`document.querySelectorAll('main section:not([hidden])').length`)).toBe(1);
  await page.press('Escape');
  expect(await page.value(shownHosts)).toBe(32);
  await page.press('j');
  expect(await page.value(focused)).toBe('h200-2');
  await page.press('j');
  expect(await page.value(focused)).toBe('h200-1');
  await page.press('k', 'k');
  expect(await page.value(focused)).toBe('h200-2');
  expect(page.complaints).toEqual([]);
});
