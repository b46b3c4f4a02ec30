import { expect, test } from 'vitest';

interface Answer {
  readonly code: number;
  readonly lines: readonly string[];
}

type MakeUser = (docker: object, id: string, say: () => void) => Promise<{ uid: string; home: string }>;

const { makeUser } = (await import(
  new URL('../../../../practice/agent/root/bin/container-user.mjs', import.meta.url).href
)) as { makeUser: MakeUser };

/** Runs the commands of a container job's user; returns those from the sudo group on, and the user. */
async function commandsWith(
  answers: Readonly<Record<string, Answer>>,
): Promise<{ last: readonly string[]; user: { home: string } }> {
  const asked: string[] = [];
  const run = async (args: readonly string[]): Promise<Answer> => {
    const command = args.slice(2).join(' ');
    asked.push(command);
    const found = Object.entries(answers).find(([part]) => command.includes(part));
    return found?.[1] ?? { code: 0, lines: [] };
  };
  const exec = async (id: string, command: readonly string[]): Promise<readonly string[]> => {
    const { code, lines } = await run(['exec', id, ...command]);
    if (code !== 0) throw new Error(command.join(' '));
    return lines;
  };
  const user = await makeUser({ run, exec }, 'aa', () => undefined);
  return { last: asked.slice(asked.indexOf('groupadd azure_pipelines_sudo') + 2), user };
}

const old = "/__a/externals/node24/bin/node: libc.so.6: version `GLIBC_2.28' not found (required by node)";
const sudoers = "su -c echo '%azure_pipelines_sudo ALL=(ALL:ALL) NOPASSWD:ALL' >> /etc/sudoers";
const node24 = 'bash -c /__a/externals/node24/bin/node -v';

test.each<[string, Readonly<Record<string, Answer>>, readonly string[]]>([
  ['an image that runs it', { 'node24/': { code: 0, lines: ['v24.1.0'] } }, []],
  ['no such Node', { 'node24/': { code: 127, lines: ['bash: No such file or directory'] } }, []],
  [
    'an old C library',
    { 'node24/': { code: 1, lines: [old] } },
    ['bash -c /__a/externals/node20_1/bin/node -v'],
  ],
])(
  'the last command in a container asks Node for its version; a failure is ignored: %s',
  async (_, answers, more) => {
    const { last } = await commandsWith(answers);
    expect(last).toEqual([sudoers, node24, ...more]);
  },
);

test('of several names with the uid, the first that the container knows is the user', async () => {
  const { user } = await commandsWith({
    getent: { code: 0, lines: ['gone', 'ann'] },
    'id -u gone': { code: 1, lines: ['no such user'] },
  });
  expect(user.home).toBe('/home/ann');
});
