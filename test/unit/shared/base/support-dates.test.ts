import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { systems } from '../../../../src/fleet/packages/systems.ts';
import { digests } from '../../../../src/fleet/steps/driver/runfile-releases.ts';
import { defaultLine, lineOf, releaseLines, supportOf } from '../../../../src/shared/base/support-dates.ts';

const day = (text: string): number => Date.parse(`${text}T00:00:00Z`);

describe('the table', () => {
  test('has each line and each version once', () => {
    const lines = releaseLines.map(({ part, line }) => `${part} ${line}`);
    expect(new Set(lines).size).toBe(lines.length);
    const versions = releaseLines.flatMap(({ part, version }) => (version ? [`${part} ${version}`] : []));
    expect(new Set(versions).size).toBe(versions.length);
  });

  test('is the only place of these versions in the programs', () => {
    const texts = globSync('src/**/*.{ts,json}')
      .filter((file) => !file.endsWith('base/support-dates.ts'))
      .map((file) => [file, readFileSync(file, 'utf8').replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, '')] as const);
    const versions = releaseLines.flatMap(({ version, newer }) => [version, newer].filter(Boolean));
    expect(versions.length).toBeGreaterThan(15);
    for (const version of versions) {
      // A value, not an example in a sentence.
      const value = new RegExp(`: *['"]${String(version).replaceAll('.', String.raw`\.`)}['"]`);
      expect(
        texts.filter(([, text]) => value.test(text)).map(([file]) => file),
        version,
      ).toEqual([]);
    }
  });

  test.each(['driver', 'docker', 'toolkit', 'agent'] as const)('has one default of %s', (part) => {
    expect(releaseLines.filter((each) => each.part === part && each.isDefault === true)).toEqual([
      defaultLine(part),
    ]);
  });

  test('has every supported system, and the branch of every known .run file', () => {
    for (const { id, versionId } of systems)
      expect(lineOf('distribution', `${id} ${versionId}`)).toBeDefined();
    for (const version of Object.keys(digests)) expect(lineOf('driver', version), version).toBeDefined();
  });

  test('has dates that exist, and successors of the same part', () => {
    for (const { part, line, released, ends, readOn, successor } of releaseLines) {
      for (const date of [released, ends === 'past' ? undefined : ends, readOn].filter(
        (each) => each !== undefined,
      ))
        expect(new Date(day(date.length === 7 ? `${date}-01` : date)).toISOString()).toMatch(
          new RegExp(`^${date}`),
        );
      if (successor !== undefined)
        expect(lineOf(part, successor), line).toMatchObject({ part, line: successor });
    }
  });
});

describe('support of a version', () => {
  test.each([
    ['driver', '580.95.05', '2028-05-01', 'supported'],
    ['driver', '580.95.05', '2028-05-02', 'ending'],
    ['driver', '580.95.05', '2028-06-30', 'ending'],
    ['driver', '580.95.05', '2028-07-01', 'ended'],
    ['driver', '570', '2020-01-01', 'supported'],
    ['driver', '550.163.01', '2020-01-01', 'ended'],
    ['driver', '615.71.09', '2026-11-28', 'unknown'],
    ['driver', '640.1', '2026-11-28', 'unknown'],
    ['driver', '58', '2026-11-28', 'unknown'],
    ['distribution', 'rocky 9.4', '2026-11-28', 'supported'],
    ['distribution', 'debian 12', '2028-05-01', 'supported'],
    ['distribution', 'debian 12', '2028-05-02', 'ending'],
    ['distribution', 'debian 12', '2028-06-30', 'ending'],
    ['distribution', 'debian 12', '2028-07-01', 'ended'],
    ['distribution', 'slackware 15', '2026-11-28', 'unknown'],
    ['docker', '26.1.5', '2026-11-28', 'ended'],
    ['docker', '29.7.2', '2026-11-28', 'unknown'],
    ['agent', '4.275.0', '2026-11-28', 'ended'],
  ] as const)('%s %s on %s: %s', (part, version, now, state) => {
    expect(supportOf(part, version, day(now))).toMatchObject({ part, version, state });
  });

  test('names the end and the successor', () => {
    expect(supportOf('driver', '535.309.01', day('2026-11-28'))).toEqual({
      part: 'driver',
      version: '535.309.01',
      state: 'ended',
      ends: '2026-06',
      successor: '580',
    });
    expect(supportOf('driver', '640', 0)).toEqual({ part: 'driver', version: '640', state: 'unknown' });
  });
});
