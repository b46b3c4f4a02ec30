import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { managerUnit } from '../../../../../src/shared/contract/paths.ts';
import { managerUnitFor } from '../../../../../src/fleet/steps/manager/files.ts';

// What docs/systemd-unit.md says of its sandbox is what systemd sees of it. The page names the version of Debian 12.
const folder = mkdtempSync(join(tmpdir(), 'unit-'));
afterAll(() => rmSync(folder, { recursive: true }));

const page = readFileSync('docs/systemd-unit.md', 'utf8');

/** `- \`NAME\`, \`NAME\`: reason` */
const reasons = [...page.matchAll(/^- ((?:`[^`]+`(?:, )?)+): (.+)$/gm)].map(([, names = '', reason]) => ({
  names: [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  reason,
}));

const analyze = (...args: readonly string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8' });
const systemd = Number(/^systemd (\d+)/.exec(analyze('--version').stdout ?? '')?.[1]);
/** The first with `security --offline`. */
const since = 250;
const debian12 = 252;

function security(...args: readonly string[]): string {
  const unit = join(folder, managerUnit);
  writeFileSync(unit, managerUnitFor(readFileSync('units/azp-fleet-manager.service', 'utf8'), systemd).text);
  return analyze('security', '--offline=yes', '--no-pager', ...args, unit).stdout;
}

test('every point that systemd-analyze finds open has its reason on the page, and no other one', ({
  annotate,
}) => {
  if (!(systemd >= since)) return annotate('there is no systemd-analyze that could look at the unit');
  const found = JSON.parse(security('--json=short')) as { name: string; exposure: string | null }[];
  const open = found.flatMap(({ name, exposure }) => (exposure === null ? [] : [name])).toSorted();
  const told = reasons.flatMap(({ names }) => names).toSorted();
  if (systemd === debian12) expect(told).toEqual(open);
  else expect(open.filter((name) => !told.includes(name))).toEqual([]);
  return undefined;
});

test('its score is the one that the page names', ({ annotate }) => {
  if (systemd !== debian12) return annotate('other versions of systemd weigh otherwise');
  const [, score] = /Overall exposure level .*: ([\d.]+)/.exec(security()) ?? [];
  expect(page).toContain(`\`systemd-analyze security\` gives it ${score} ("OK") on Debian 12`);
  return undefined;
});
