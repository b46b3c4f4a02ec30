import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { configScript } from '../../../../../src/fleet/steps/docker/scripts.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { answersLate, askEngine, engineHost, lastLines, wait } from './engine-host.ts';

const file = '/etc/docker/daemon.json';
const restarted = ['systemctl reset-failed docker.service', 'systemctl restart docker.service'];
const tried = ['dockerd --help', `dockerd --validate --config-file ${file}.new`];
const notUp = {
  code: 1,
  stderr: `failed: Docker Engine did not start with its new configuration; the old one is restored
expected: an answer on /var/run/docker.sock within 120 s
seen: dockerd prints why
next: journalctl -u docker.service
`,
};

/** Makes the engine start with any text but the new one. */
function refusesNew(host: ScratchHost): void {
  host.program('systemctl', `[ "$1" != restart ] || ! grep -qs new ${file}`);
}

function changed(from: string | undefined, seen: string | undefined) {
  const digest = (text: string | undefined) => (text === undefined ? 'absent' : sha256(text));
  return {
    code: 1,
    stderr: `failed: ${file} has changed since the plan
expected: sha256 ${digest(from)}
seen: ${digest(seen)}
next: run again
`,
  };
}

export const configSuite: ScriptSuite = {
  name: 'writing daemon.json',
  given: engineHost,
  cases: [
    {
      name: 'writes a new file, and restarts the engine',
      script: configScript({ from: undefined, to: 'new', restart: true }),
      given: answersLate,
      run: { umask: '077' },
      after: {
        calls: [...tried, ...restarted, ...wait(3), askEngine],
        files: { '/etc/docker': '755 /', [file]: '644 new', '/run/asked': `600 ${'x\n'.repeat(4)}` },
      },
    },
    {
      name: "keeps a copy of the owner's file",
      script: configScript({ from: 'mine', to: 'new', restart: true }),
      given: (host) => host.file(file, 'mine', { mode: 0o640 }),
      after: {
        calls: [...tried, ...restarted, askEngine],
        files: {
          [file]: '644 new',
          [`${file}.before-azp-fleet`]: '640 mine',
          [`${file}.previous`]: '640 mine',
        },
      },
    },
    {
      name: "keeps the owner's copy when it replaces our file, and restarts nothing before an installation",
      script: configScript({ from: 'old', to: 'new', restart: false }),
      given: (host) =>
        host
          .file(`${file}.new`, 'cut off')
          .file(file, 'old')
          .file(`${file}.before-azp-fleet`, 'mine')
          .file(`${file}.previous`, 'mine'),
      after: {
        calls: tried,
        files: { [file]: '644 new', [`${file}.new`]: 'gone', [`${file}.previous`]: '644 old' },
      },
    },
    {
      name: 'removes an old previous file if there is no file now',
      script: configScript({ from: undefined, to: 'new', restart: false }),
      given: (host) => host.file(`${file}.previous`, 'old'),
      after: { calls: tried, files: { [file]: '644 new', [`${file}.previous`]: 'gone' } },
    },
    {
      name: 'does not touch a file changed since the plan',
      script: configScript({ from: 'mine', to: 'new', restart: true }),
      given: (host) => host.file(file, 'another user'),
      after: changed('mine', 'another user'),
    },
    {
      name: 'does not write a file that was deleted since the plan',
      script: configScript({ from: 'mine', to: 'new', restart: true }),
      after: changed('mine', undefined),
    },
    {
      name: 'does not replace a file where the plan saw none',
      script: configScript({ from: undefined, to: 'new', restart: true }),
      given: (host) => host.file(file, 'mine'),
      after: changed(undefined, 'mine'),
    },
    {
      name: 'only restarts if an interrupted run wrote the file',
      script: configScript({ from: 'mine', to: 'new', restart: true }),
      given: (host) => host.file(file, 'new'),
      after: { calls: [...restarted, askEngine] },
    },
    {
      name: 'validates with dockerd first, and keeps a rejected file',
      script: configScript({ from: 'mine', to: 'new', restart: true }),
      given: (host) =>
        host
          .file(file, 'mine')
          .program('dockerd', 'case $1 in --help) echo --validate ;; *) echo "no $3" >&2; exit 1 ;; esac'),
      after: {
        code: 1,
        stderr: `failed: dockerd rejects its new configuration
expected: a valid daemon.json
seen: no ${file}.new
next: compare with ${file}.new and correct ${file} by hand
`,
        calls: tried,
        files: {
          [`${file}.before-azp-fleet`]: '644 mine',
          [`${file}.new`]: '644 new',
          [`${file}.previous`]: '644 mine',
        },
      },
    },
    {
      name: 'skips validation if dockerd does not support it or is missing',
      script: configScript({ from: undefined, to: 'new', restart: false }),
      given: (host) => host.program('dockerd', 'echo "unknown" >&2; exit 1'),
      after: { calls: ['dockerd --help'], files: { '/etc/docker': '755 /', [file]: '644 new' } },
    },
    {
      name: 'restores the file if the engine does not start',
      script: configScript({ from: 'mine', to: 'new', restart: true }),
      given: (host) => {
        host.file(file, 'mine', { mode: 0o600 });
        refusesNew(host);
      },
      after: {
        ...notUp,
        calls: [...tried, ...restarted, lastLines, ...restarted, askEngine],
        files: { [`${file}.before-azp-fleet`]: '600 mine', [`${file}.previous`]: '600 mine' },
      },
    },
    {
      name: 'removes the file again if there was none',
      script: configScript({ from: undefined, to: 'new', restart: true }),
      given: refusesNew,
      after: {
        ...notUp,
        calls: [...tried, ...restarted, lastLines, ...restarted, askEngine],
        files: { '/etc/docker': '755 /' },
      },
    },
    {
      name: 'fails if the engine starts with neither file, after two minutes each',
      script: configScript({ from: undefined, to: 'new', restart: true }),
      given: (host) =>
        host
          .program('docker', 'echo "is the daemon running?" >&2; exit 1', { silent: true })
          .program('sleep', 'echo "$1" >>/run/slept', { silent: true }),
      after: {
        ...notUp,
        calls: [...tried, ...restarted, lastLines, ...restarted],
        files: { '/etc/docker': '755 /', '/run/slept': `644 ${'1\n'.repeat(240)}` },
      },
    },
  ],
};
