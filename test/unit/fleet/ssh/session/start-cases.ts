import { bootProgram, scriptLine, type BootRequest } from '../../../../../src/fleet/ssh/session/bootstrap.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';

function boot(parts: Partial<BootRequest>): string {
  return bootProgram({
    nonce: 'n0',
    as: 'root',
    elevation: 'unknown',
    canAnswer: true,
    limitS: 69.5,
    input: false,
    ...parts,
  });
}

/** Prints the environment of the script, and the rest of the input. */
const script = `echo "it's  $PATH"
/bin/sh -c 'echo "$LC_ALL $LANG"'
printf '%s\\n' "$PWD \${ENV-} \${BASH_ENV-} \${CDPATH-} \${LANGUAGE-}"
umask
cat
exit 7
`;
const foreign = { ENV: '/e', BASH_ENV: '/b', CDPATH: '/c', LANGUAGE: 'de' };
const input = `${scriptLine(script)}rest of it\n`;
/** Runs in an environment that differs from ours, as any login may have. */
const session = (before = '') => ({ input: `${before}${input}`, env: foreign, umask: '077' });
const found = `it's  /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nC C\n/    \n0022\n`;
const limit = { '/run/limit': '600 -k 5 70\n' };
const ran = (rest = '') => ({
  code: 7,
  stdout: `@n0 ready \n${found}${rest}`,
  stderr: '@n0 ready\n',
  files: limit,
});
/** Returns the result of a run through sudo with these calls. */
const raised = (calls: string, stdout = '', stderr = '') => ({
  code: 7,
  stdout: `${stdout}@n0 ready sudo\n${found}`,
  stderr: `${stderr}@n0 ready\n`,
  files: { ...limit, '/run/sudo': `600 ${calls}` },
});
const sudoFailed = (what: string) => ({
  code: 126,
  stdout: `@n0 sudo ${what}\n`,
  calls: ['id -u'],
  files: { '/run/sudo': '600 -n /bin/sh\n' },
});
/** Adds a sudo(8) that answers as given, reads a password with -S, and sets SUDO_UID. */
function sudo(host: ScratchHost, answer: string): void {
  host.program(
    'sudo',
    `echo "$1 $2" >>/run/sudo
[ "$1 $2" != '-n /bin/sh' ] || cat >/dev/null
case $1 in
  -n) [ "$LC_ALL" = C ] || exec echo 'sudo: ein Passwort ist notwendig'; ${answer} ;;
  -S) printf %s "$4" >&2; read -r password; echo "<$password>"; shift 2 ;;
esac
while [ "$1" != /bin/sh ]; do shift; done
SUDO_UID=1000 exec "$@"`,
    { silent: true },
  );
}
const needsPassword = 'echo "sudo: a password is required" >&2; exit 1';

export const startSuite: ScriptSuite = {
  name: 'taking a script and running it as root',
  flags: [],
  given: (host) => {
    host
      .program('id', 'echo 1000')
      .program('timeout', 'echo "$1 $2 $3" >>/run/limit; shift 3; exec "$@"', { silent: true });
    sudo(host, ':');
  },
  cases: [
    {
      name: 'as the login user, in our environment, without input',
      script: boot({ as: 'login' }),
      run: session(),
      after: ran(),
    },
    {
      name: 'the rest after the script is its input if it has one',
      script: boot({ elevation: 'none', input: true }),
      run: session(),
      after: ran('rest of it\n'),
    },
    {
      name: 'no script has its own exit code',
      script: boot({ elevation: 'none' }),
      run: { umask: '077' },
      after: { code: 125, stdout: '@n0 ready \n', stderr: '@n0 ready\n', files: limit },
    },
    ...(['0', '1000'] as const).flatMap((id) =>
      [':', needsPassword].map((answer) => ({
        name: `no script for ${id}, where sudo answers ${answer}`,
        script: boot({}),
        given: (host: ScratchHost) => {
          host
            .program('id', `echo ${id}`, { silent: true })
            .program('timeout', 'shift 3; exec "$@"', { silent: true });
          host.program(
            'sudo',
            `[ "$4" != : ] || { ${answer}; }; while [ "$1" != /bin/sh ]; do shift; done; exec "$@"`,
            {
              silent: true,
            },
          );
        },
        after: { code: 125, stdout: '@n0 ready \n', stderr: '@n0 ready\n' },
      })),
    ),
    {
      name: 'root needs no sudo',
      script: boot({}),
      given: (host) => host.program('id', 'echo 0'),
      run: session(),
      after: { ...ran(), calls: ['id -u'] },
    },
    {
      name: 'sudo without a password',
      script: boot({}),
      run: session(),
      after: { ...raised('-n /bin/sh\n-n -H\n'), calls: ['id -u'] },
    },
    {
      name: 'sudo that is known to need none',
      script: boot({ elevation: 'free' }),
      run: session(),
      after: raised('-n -H\n'),
    },
    {
      name: 'sudo that asks for a password',
      script: boot({}),
      given: (host) => sudo(host, needsPassword),
      run: session('s3 cret\n'),
      after: { ...raised('-n /bin/sh\n-S -H\n', '<s3 cret>\n', '@n0 password:'), calls: ['id -u'] },
    },
    {
      name: 'sudo that is known to ask',
      script: boot({ elevation: 'password' }),
      given: (host) => sudo(host, needsPassword),
      run: session('s3 cret\n'),
      after: raised('-S -H\n', '<s3 cret>\n', '@n0 password:'),
    },
    {
      name: 'a password is not asked for if none can be given',
      script: boot({ canAnswer: false }),
      given: (host) => sudo(host, needsPassword),
      run: session(),
      after: sudoFailed('password sudo: a password is required'),
    },
    {
      name: 'sudo that requires a terminal',
      script: boot({}),
      given: (host) => sudo(host, 'echo "sudo: sorry, you must have a tty to run sudo" >&2; exit 1'),
      run: session(),
      after: sudoFailed('tty sudo: sorry, you must have a tty to run sudo'),
    },
    {
      name: 'no sudo',
      script: boot({}),
      given: (host) => host.without('sudo'),
      run: session(),
      after: { code: 126, stdout: '@n0 sudo missing \n', calls: ['id -u'] },
    },
  ],
};
