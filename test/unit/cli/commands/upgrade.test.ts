// What the arguments of `upgrade` mean.
import { expect, test } from 'vitest';

import { readArguments, versionsOf } from '../../../../src/cli/commands/upgrade.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { version } from '../../../../src/shared/base/version.ts';

const all = ['driver', 'docker', 'toolkit', 'agent', 'manager'];

test.each<[string, string, readonly string[], readonly string[]]>([
  ['', 'all', all, []],
  ['all', 'all', all, []],
  ['all gpu1', 'all', all, ['gpu1']],
  ['driver', 'driver', ['driver'], []],
  ['docker gpu1 gpu2', 'docker', ['docker'], ['gpu1', 'gpu2']],
  ['gpu1 docker', 'all', all, ['gpu1', 'docker']],
])('"%s"', (typed, word, parts, patterns) => {
  expect(readArguments(typed.split(' ').filter(Boolean))).toEqual({ word, parts, patterns });
});

const versions = (word: string, to: string) => {
  const read = readArguments([word]);
  return Object.fromEntries(versionsOf(read.word, read.parts, to));
};

test('versions, branches, and the default of this release', () => {
  expect(versions('driver', '580')).toEqual({ driver: '580' });
  expect(versions('driver', '580.95.05')).toEqual({ driver: '580.95.05' });
  expect(versions('docker', '29.8.2')).toEqual({ docker: '29.8.2' });
  expect(versions('manager', version)).toEqual({ manager: version });
  expect(versions('all', 'default')).toMatchObject({ driver: '580', manager: version });
  expect(Object.keys(versions('all', 'default'))).toEqual(all);
});

test.each([
  ['driver', 'newest', 'see what is offered: azp-fleet upgrade driver'],
  ['driver', '580.', 'see what is offered: azp-fleet upgrade driver'],
  ['docker', '29', 'see what is offered: azp-fleet upgrade docker'],
  ['toolkit', '1.20.0-1', 'see what is offered: azp-fleet upgrade toolkit'],
  ['agent', '5', 'see what is offered: azp-fleet upgrade agent'],
  ['manager', '9.9.9', 'install azp-fleet 9.9.9 on this machine, then run its upgrade'],
  ['all', '580', 'name a part: azp-fleet upgrade PART HOST… --to VERSION'],
])('%s has no version %s', (word, to, next) => {
  try {
    versions(word, to);
    expect.unreachable();
  } catch (error) {
    expect(error).toBeInstanceOf(FleetError);
    expect(error).toMatchObject({ exitCode: 2, problem: { code: 'usage.upgrade', seen: to, next } });
  }
});
