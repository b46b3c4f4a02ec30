import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import { platformOf } from '../../../../../src/fleet/packages/distribution.ts';
import type { Answer, Question } from '../../../../../src/fleet/packages/simulation.ts';
import type { Transaction } from '../../../../../src/fleet/packages/transaction.ts';
import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { simulationSuite } from './simulation-cases.ts';

testSuite(simulationSuite);

/** The folder of the script and of programs that replace apt's. The lab runs the script with apt. */
let root: string;
const at = (path: string): string => join(root, path);
const put = (path: string, text: string): void => {
  mkdirSync(join(at(path), '..'), { recursive: true });
  writeFileSync(at(path), text);
};
function command(name: string, body: string): void {
  put(`bin/${name}`, `#!/bin/sh\n${body}\n`);
  chmodSync(at(`bin/${name}`), 0o755);
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'azp-fleet-simulation-'));
  mkdirSync(at('run'));
  put('etc/apt/sources.list', 'deb http://archive bookworm main\n');
  put('etc/apt/sources.list.d/docker.list', 'deb https://download.docker.com/linux/debian bookworm stable\n');
  put('etc/apt/sources.list.d/site.sources', 'Types: deb\n');
  put('etc/apt/apt.conf.d/50proxy', 'Acquire::http::Proxy "http://proxy:3128";\n');
  put('etc/apt/preferences.d/pin-of-tool-1', 'Package: tool\n');
  put('etc/apt/preferences.d/site', 'Package: *\n');
  put('var/lib/apt/lists/archive_InRelease', 'release\n');
  put('var/lib/apt/lists/archive_Packages', 'packages\n');
  put('var/lib/apt/lists/archive_Contents', 'contents\n');
  put(
    'var/lib/dpkg/status',
    'Package: tool\nStatus: hold ok installed\n\nPackage: other\nStatus: hold ok installed\n',
  );
  put('helper', '');
  command('apt-helper', `echo KEY >"$5"; echo "download $4" >>${at('calls')}`);
  command(
    'apt-get',
    `conf=$APT_CONFIG; world=\${conf%/*}
    case "$*" in
      *-s*) cat $world/status >${at('status')}; ls $world/preferences.d >${at('preferences')}; echo "$*" >>${at('asked')}
        case "$*" in *--fix-broken*) exit ;; esac
        case "$*" in *--ignore-hold*) [ -e ${at('freed')} ] && cat ${at('freed')}; exit ;; esac
        if [ -e ${at('fails')} ]; then cat ${at('fails')}; exit 100; fi
        cat ${at('simulation')} ;;
      *update*) ls $world/lists >${at('lists')}; cat $world/sources.list.d/* >${at('sources')}; cat $world/last.conf $world/conf.d/* >${at('conf')}
        cat ${at('heard')}; case $(cat ${at('heard')}) in *Err:*) exit 100 ;; esac ;;
      *indextargets*) for file in $world/sources.list.d/*; do echo "$file:1"; done ;;
    esac`,
  );
  command(
    'apt-cache',
    'case $1 in madison) printf "tool | 2.1-2 | x\\ntool | 2.0-1 | x\\n" ;; pkgnames) echo tool ;; esac',
  );
  command('apt-config', 'echo \'Acquire::IndexTargets::deb::DEP-11::MetaKey "";\'');
  command('apt-mark', 'echo other');
  command('dpkg-query', `case $1 in -L) echo ${at('etc/apt/preferences.d/pin-of-tool-1')} ;; esac`);
  put('heard', 'Get:1 http://mirror/docker/debian bookworm InRelease [1 B]\n');
  put('simulation', 'Remv old [1.0]\nInst tool [1.9-1] (2.0-1 x [amd64])\n');
});
afterEach(() => rmSync(root, { recursive: true }));

const system = platformOf({ os: { id: 'debian', versionId: '12', pretty: '' }, arch: 'x86_64' });
if (system === undefined) throw new Error('Debian 12 is supported');
const transaction: Transaction = {
  vendor: 'docker',
  packages: [{ name: 'tool', version: { release: '2.0' } }],
  remove: ['old'],
  mayRemove: [],
  proxy: { noProxy: [] },
};

function simulate(more: Partial<Transaction> = {}, question: Partial<Question> = {}): Answer | undefined {
  const asked = [{ key: 'docker-install-0', transaction: { ...transaction, ...more } }];
  const script = apt.simulator.script({
    asked,
    missing: ['docker'],
    system: system as NonNullable<typeof system>,
    site: { mirrors: { docker: 'http://mirror/docker' }, proxy: { noProxy: [] } },
    ...question,
  });
  const { stdout, stderr, status } = spawnSync('/bin/sh', ['-eu'], {
    input: script
      .replaceAll(/(?<![\w.])\/(run|etc\/apt|var\/lib)\//g, `${root}/$1/`)
      .replaceAll('find /run ', `find ${root}/run `)
      .replaceAll('/usr/lib/apt/apt-helper', at('bin/apt-helper')),
    encoding: 'utf8',
    env: { PATH: `${at('bin')}:/usr/bin:/bin` },
  });
  expect(status, stderr).toBe(0);
  expect(readdirSync(at('run'))).toEqual([]);
  return apt.simulator.parse(stdout, asked)['docker-install-0'];
}

const seen = (file: string): string => readFileSync(at(file), 'utf8');

describe('the simulation with apt', () => {
  it('has apt’s answer to the request of the installation', () => {
    expect(simulate()).toEqual({
      kind: 'value',
      value: {
        version: '2.0',
        removes: [{ name: 'old', from: '1.0' }],
        installs: [],
        upgrades: [{ name: 'tool', from: '1.9-1', to: '2.0-1' }],
        downgrades: [],
        kept: [],
      },
    });
    expect(seen('asked')).toContain('-s install --allow-downgrades tool=2.0-1 old-');
  });

  it('uses the future sources and begins with the existing lists', () => {
    simulate();
    expect(seen('sources')).toContain('URIs: http://mirror/docker/debian');
    expect(seen('sources')).toMatch(/Signed-By: .*\/azp-fleet-simulation\.\w+\/keys\/azp-fleet-docker\.asc/);
    expect(seen('sources')).not.toContain('download.docker.com');
    expect(seen('lists').split('\n')).toEqual(
      expect.arrayContaining(['archive_InRelease', 'archive_Packages']),
    );
    expect(seen('lists')).not.toContain('Contents');
    expect(seen('calls')).toBe('download http://mirror/docker/debian/gpg\n');
  });

  it("keeps the host's configuration without its update hooks", () => {
    simulate();
    expect(seen('conf')).toContain('Acquire::http::Proxy "http://proxy:3128";');
    expect(seen('conf')).toContain('#clear APT::Update::Post-Invoke-Success;');
    expect(seen('conf')).toMatch(/Dir::Log ".*\/azp-fleet-simulation\.\w+";\nDir::Log::Planner "";/);
    expect(seen('conf')).toContain('Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";');
  });

  it('removes only azp-fleet’s holds and the pins of removed packages, on a copy', () => {
    const before = seen('var/lib/dpkg/status');
    simulate({ remove: ['pinning-1'] });
    expect(seen('status')).toBe(before.replace('hold', 'install'));
    expect(seen('var/lib/dpkg/status')).toBe(before);
    expect(seen('preferences')).toBe('site\n');
    expect(existsSync(at('etc/apt/preferences.d/pin-of-tool-1'))).toBe(true);
  });

  it('includes packages that must be there first, without installing them', () => {
    simulate({ before: 'bring linux-headers-6.1' });
    expect(seen('asked')).toContain('tool=2.0-1 old- linux-headers-6.1\n');
  });

  it('reports what prevents it with the problem of the change', () => {
    const before = "fail 'no headers' 'linux-headers-6.1' 'none' 'reboot'";
    expect(simulate({ before })).toEqual({
      kind: 'impossible',
      what: 'no headers (expected linux-headers-6.1; seen: none)',
      next: 'reboot',
    });
  });

  it('names the offered versions if the requested one is missing', () => {
    expect(simulate({ packages: [{ name: 'tool', version: { release: '3.0' } }] })).toEqual({
      kind: 'not-offered',
      offered: ['2.1', '2.0'],
    });
  });

  it('does not contact a vendor whose source the host has', () => {
    put('etc/apt/sources.list.d/azp-fleet-docker.sources', 'URIs: http://mirror/docker/debian\n');
    expect(simulate({}, { missing: [] })?.kind).toBe('value');
    expect(existsSync(at('calls'))).toBe(false);
  });

  it("does not count the host's old lists as an answer", () => {
    put(
      'heard',
      'Err:1 http://mirror/docker/debian bookworm InRelease\n  refused\nE: Failed to fetch http://mirror/docker/debian/dists  Connection refused\n',
    );
    expect(simulate()).toEqual({
      kind: 'unknown',
      why: 'Failed to fetch http://mirror/docker/debian/dists Connection refused',
    });
  });

  it('is unknown if the key cannot be fetched', () => {
    command('apt-helper', 'echo "E: Failed to fetch $4  404 Not Found" >&2; exit 100');
    expect(simulate()).toEqual({
      kind: 'unknown',
      why: 'Failed to fetch http://mirror/docker/debian/gpg 404 Not Found',
    });
  });

  it("names packages that the owner's holds keep back", () => {
    put('freed', 'Inst tool [1.9-1] (2.0-1 x [amd64])\nInst other [1] (2 x [amd64])\n');
    expect(simulate()).toMatchObject({ kind: 'value', value: { kept: ['other'] } });
  });

  it('is impossible if a hold prevents it, and names that hold', () => {
    put(
      'fails',
      'The following packages have unmet dependencies:\n tool : Depends: other (= 2) but 1 is to be installed\n',
    );
    expect(simulate()).toMatchObject({
      kind: 'impossible',
      what: 'apt found no solution: tool : Depends: other (= 2) but 1 is to be installed',
    });
    put('freed', 'Inst other [1] (2 x [amd64])\n');
    expect(simulate()).toMatchObject({
      kind: 'impossible',
      what: 'other would have to change, and is held on this host',
    });
  });
});
