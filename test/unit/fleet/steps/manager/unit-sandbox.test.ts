import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { managerUnit } from '../../../../../src/shared/contract/paths.ts';
import { managerUnitFor } from '../../../../../src/fleet/steps/manager/files.ts';

// Compares docs/systemd-unit.md with systemd-analyze. The page names the version of Debian 12.
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
/** The first version with `security --offline`. */
const since = 250;
const debian12 = 252;

function security(...args: readonly string[]): string {
  const unit = join(folder, managerUnit);
  writeFileSync(unit, managerUnitFor(readFileSync('units/azp-fleet-manager.service', 'utf8'), systemd).text);
  return analyze('security', '--offline=yes', '--no-pager', ...args, unit).stdout;
}

test('the page has a reason for exactly the points that systemd-analyze reports', ({ annotate }) => {
  if (!(systemd >= since)) return annotate('no systemd-analyze with --offline');
  const found = JSON.parse(security('--json=short')) as { name: string; exposure: string | null }[];
  const open = found.flatMap(({ name, exposure }) => (exposure === null ? [] : [name])).toSorted();
  const documented = reasons.flatMap(({ names }) => names).toSorted();
  if (systemd === debian12) expect(documented).toEqual(open);
  else expect(open.filter((name) => !documented.includes(name))).toEqual([]);
  return undefined;
});

test('the page has its score', ({ annotate }) => {
  if (systemd !== debian12) return annotate('other versions of systemd compute other scores');
  const [, score] = /Overall exposure level .*: ([\d.]+)/.exec(security()) ?? [];
  expect(page).toContain(`\`systemd-analyze security\` gives it ${score} ("OK") on Debian 12`);
  return undefined;
});
