import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { slotUid } from '../../../../src/shared/image/layout.ts';
import { jobUser } from '../../../../src/manager/docker/job-user.ts';

const root = 'root:x:0:0:root:/root:/bin/bash';
const made = (passwd: string | undefined) => {
  const { files, folders } = jobUser(passwd, 59_003);
  return {
    passwd: files.map(({ content }) => Buffer.from(content).toString()).join(''),
    folders: folders.map(({ path }) => path),
    owners: [...new Set(folders.map(({ uid, gid }) => `${uid}:${gid}`))],
  };
};

test('no two slots of a host share a uid, and none has one of images, accounts, systemd or agents on the host', () => {
  const uids = Array.from({ length: 512 }, (_, index) => slotUid(index));
  expect(new Set(uids).size).toBe(512);
  expect(Math.min(...uids)).toBeGreaterThan(58_999);
  expect(Math.max(...uids)).toBeLessThan(60_001);
});

describe('the user that jobs are in an image', () => {
  test('keeps name, home and shell of the one that the image has for agents', () => {
    const { passwd, folders, owners } = made(`${root}\nagent:x:4000:4000::/home/agent:/bin/bash\n`);
    expect(passwd).toBe(`${root}\nagent:x:59003:4000::/home/agent:/bin/bash\n`);
    expect(owners).toEqual(['59003:4000']);
    expect(folders).toEqual([
      'azp/',
      'azp/_work/',
      'azp/_work/_tool/',
      'azp/_work/_tasks/',
      'azp/_diag/',
      'azp/externals/',
      'home/agent/',
      'home/agent/.config/',
      'home/agent/.cache/',
      'home/agent/.local/',
      'home/agent/.local/share/',
    ]);
  });

  test.each([
    ['none for agents', `${root}\n`, 'agent:x:59003:4000::/azp/home:/bin/sh'],
    [
      'the name for somebody else',
      `${root}\nagent:x:1000:1000::/home/agent:/bin/sh\n`,
      'azp-agent:x:59003:4000::/azp/home:/bin/sh',
    ],
    ['one without a home', 'me:x:4000:4000::/:\n', 'me:x:59003:4000::/azp/home:/bin/sh'],
    ['one with the home of root', 'me:x:4000:4000::/root:/bin/sh\n', 'me:x:59003:4000::/azp/home:/bin/sh'],
    ['a home that climbs', 'me:x:4000:4000::/home/../etc:/bin/sh\n', 'me:x:59003:4000::/azp/home:/bin/sh'],
    ['the uid already', 'x:x:59003:1::/x:/x\n', 'agent:x:59003:4000::/azp/home:/bin/sh'],
    ['no line at all', '', 'agent:x:59003:4000::/azp/home:/bin/sh'],
  ])('where the image has %s', (_, given, line) => {
    const { passwd, folders } = made(given);
    expect(passwd.trim().split('\n').at(-1)).toBe(line);
    expect(passwd.match(/:59003:/g)).toHaveLength(1);
    expect(folders.filter((folder) => !folder.startsWith('azp/'))).toEqual([]);
  });

  test('an image whose users cannot be read keeps what it has', () => {
    expect(made(undefined)).toMatchObject({ passwd: '' });
  });

  test('for any image, other users are unchanged, and every folder is in a home or the agent', () => {
    const line = fc.array(fc.constantFrom('x', '0', '4000', 'agent', '/home/a', '/', '..', 'é\u001b['), {
      maxLength: 9,
    });
    fc.assert(
      fc.property(fc.array(line.map((fields) => fields.join(':'))), (lines) => {
        const { passwd, folders } = made(lines.join('\n'));
        const kept = passwd.split('\n').slice(0, -2);
        expect(lines.filter((each) => each !== '')).toEqual(expect.arrayContaining(kept));
        expect(folders.every((folder) => /^(?:azp|home\/a)\//.test(folder) && !folder.includes('..'))).toBe(
          true,
        );
      }),
    );
  });
});
