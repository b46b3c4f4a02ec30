import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tar } from '../../../../src/shared/base/tar.ts';
import { slotUid } from '../../../../src/shared/image/layout.ts';
import { ImageUsers, jobUser } from '../../../../src/manager/docker/job-user.ts';

const root = 'root:x:0:0:root:/root:/bin/bash';
const userOf = (passwd: string | undefined) => {
  const { files, folders } = jobUser(passwd, 59_003);
  return {
    passwd: files.map(({ content }) => Buffer.from(content).toString()).join(''),
    folders: folders.map(({ path }) => path),
    owners: [...new Set(folders.map(({ uid, gid }) => `${uid}:${gid}`))],
  };
};

test('each slot has a unique uid outside the ranges of images, accounts, systemd and agents on the host', () => {
  const uids = Array.from({ length: 512 }, (_, index) => slotUid(index));
  expect(new Set(uids).size).toBe(512);
  expect(Math.min(...uids)).toBeGreaterThan(58_999);
  expect(Math.max(...uids)).toBeLessThan(60_001);
});

describe("the jobs' user in an image", () => {
  test("keeps name, home and shell of the image's agent user", () => {
    const { passwd, folders, owners } = userOf(`${root}\nagent:x:4000:4000::/home/agent:/bin/bash\n`);
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
    ['no agent user', `${root}\n`, 'agent:x:59003:4000::/azp/home:/bin/sh'],
    [
      'the name for another user',
      `${root}\nagent:x:1000:1000::/home/agent:/bin/sh\n`,
      'azp-agent:x:59003:4000::/azp/home:/bin/sh',
    ],
    ['a user without a home', 'me:x:4000:4000::/:\n', 'me:x:59003:4000::/azp/home:/bin/sh'],
    ["a user with root's home", 'me:x:4000:4000::/root:/bin/sh\n', 'me:x:59003:4000::/azp/home:/bin/sh'],
    ['a home with ..', 'me:x:4000:4000::/home/../etc:/bin/sh\n', 'me:x:59003:4000::/azp/home:/bin/sh'],
    ['the uid for another user', 'x:x:59003:1::/x:/x\n', 'agent:x:59003:4000::/azp/home:/bin/sh'],
    ['an empty file', '', 'agent:x:59003:4000::/azp/home:/bin/sh'],
  ])('where the image has %s', (_, given, line) => {
    const { passwd, folders } = userOf(given);
    expect(passwd.trim().split('\n').at(-1)).toBe(line);
    expect(passwd.match(/:59003:/g)).toHaveLength(1);
    expect(folders.filter((folder) => !folder.startsWith('azp/'))).toEqual([]);
  });

  test('an image without a readable /etc/passwd gets none', () => {
    expect(userOf(undefined)).toMatchObject({ passwd: '' });
  });

  test("for any image, other users are unchanged, and all folders are in a home or the agent's", () => {
    const line = fc.array(fc.constantFrom('x', '0', '4000', 'agent', '/home/a', '/', '..', 'é\u001b['), {
      maxLength: 9,
    });
    fc.assert(
      fc.property(fc.array(line.map((fields) => fields.join(':'))), (lines) => {
        const { passwd, folders } = userOf(lines.join('\n'));
        const kept = passwd.split('\n').slice(0, -2);
        expect(lines.filter((each) => each !== '')).toEqual(expect.arrayContaining(kept));
        expect(folders.every((folder) => /^(?:azp|home\/a)\//.test(folder) && !folder.includes('..'))).toBe(
          true,
        );
      }),
    );
  });
});

test('the users of an image are read in one container of it: the next starts sooner', async () => {
  const read: string[] = [];
  const engine = {
    getArchive: async (container: string) => {
      read.push(container);
      return tar([{ path: 'passwd', content: Buffer.from(root), mode: 0o644 }]);
    },
  };
  const users = new ImageUsers();
  for (const [image, container] of [
    ['image-1', 'box-1'],
    ['image-1', 'box-2'],
    ['image-2', 'box-3'],
  ] as const)
    expect(await users.of(engine, { image, container })).toBe(root);
  expect(read).toEqual(['box-1', 'box-3']);
});
