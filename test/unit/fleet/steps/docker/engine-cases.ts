import { failFunction } from '../../../../../src/shared/base/shell.ts';
import {
  engineFunctions,
  restartScript,
  startEngine,
  trialScript,
} from '../../../../../src/fleet/steps/docker/scripts.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { answersLate, askEngine, engineHost, lastLines, wait } from './engine-host.ts';

const start = `${failFunction}\n${engineFunctions}\n${startEngine}`;
const begun = ['systemctl enable -q docker.service', 'systemctl start docker.service'];
const restarted = ['systemctl reset-failed docker.service', 'systemctl restart docker.service'];
const failed = (what: string, expected: string) => ({
  code: 1,
  stderr: `failed: ${what}\nexpected: ${expected}\nseen: dockerd prints why\nnext: journalctl -u docker.service\n`,
});
const noStart = failed('Docker Engine did not start', 'an answer on /var/run/docker.sock within 120 s');
const silent = 'echo "is the daemon running?" >&2; exit 1';

const trial = '/opt/trial';
const tryConfig = `${failFunction}\ntrial=${trial}\n${trialScript('29.7.2')}`;
/** A dockerd of a package that is not installed. */
const newDockerd =
  (help: string, answer: string) =>
  (host: ScratchHost): void => {
    host.program(
      `${trial}/files/usr/bin/dockerd`,
      `case $1 in --help) echo '${help}'; echo 'a --validate warning' >&2 ;; *) ${answer} ;; esac`,
    );
  };
const asksHelp = 'dockerd --help';
const reads = 'dockerd --validate --config-file /etc/docker/daemon.json';

export const engineSuite: ScriptSuite = {
  name: 'starting and restarting the engine',
  given: engineHost,
  cases: [
    {
      name: 'starts it now and at boot, and waits for its answer',
      script: start,
      given: answersLate,
      after: { calls: [...begun, ...wait(3), askEngine], files: { '/run/asked': `644 ${'x\n'.repeat(4)}` } },
    },
    {
      name: 'shows its last lines if systemd cannot start it',
      script: start,
      given: (host) => host.program('systemctl', '[ "$1" != start ]'),
      after: { ...noStart, calls: [...begun, lastLines] },
    },
    {
      name: 'shows its last lines if it does not answer',
      script: start,
      given: (host) =>
        host
          .program('docker', silent, { silent: true })
          .program('sleep', 'echo "$1" >>/run/slept', { silent: true }),
      after: {
        ...noStart,
        calls: [...begun, lastLines],
        files: { '/run/slept': `644 ${'1\n'.repeat(120)}` },
      },
    },
    {
      name: 'does not start a unit that cannot be enabled',
      script: start,
      given: (host) => host.program('systemctl', 'echo "Unit $3 does not exist" >&2; exit 1'),
      after: {
        code: 1,
        stderr: 'Unit docker.service does not exist\n',
        calls: ['systemctl enable -q docker.service'],
      },
    },
    {
      name: 'resets earlier failures on a restart, and waits for the answer',
      script: restartScript,
      after: { calls: [...restarted, askEngine] },
    },
    {
      name: 'shows why a restart failed',
      script: restartScript,
      given: (host) => host.program('systemctl', '[ "$1" != restart ]'),
      after: {
        ...failed('Docker Engine did not restart', 'an answer within 120 s'),
        calls: [...restarted, lastLines],
      },
    },
    {
      name: 'lets a new dockerd read daemon.json before it is installed',
      script: tryConfig,
      given: newDockerd('--validate', "echo 'configuration OK'"),
      after: { calls: [asksHelp, reads] },
    },
    {
      name: 'lets it find its docker-proxy, which is not installed either',
      script: tryConfig,
      given: (host) => {
        host.program(`${trial}/files/usr/bin/docker-proxy`, ':');
        newDockerd('--validate', 'docker-proxy')(host);
      },
      after: { calls: [asksHelp, reads, 'docker-proxy'] },
    },
    {
      name: 'stops if the new dockerd rejects daemon.json, with its words',
      script: tryConfig,
      given: newDockerd('--validate', "echo 'unable to configure: unknown key: bip6' >&2; exit 1"),
      after: {
        code: 1,
        stderr: `failed: Docker 29.7.2 does not start with the daemon.json of this host
expected: a configuration that it accepts
seen: unable to configure: unknown key: bip6
next: correct /etc/docker/daemon.json, and run again; the installed engine is unchanged
`,
        calls: [asksHelp, reads],
      },
    },
    {
      name: 'does not try a dockerd that cannot only read its configuration',
      script: tryConfig,
      given: newDockerd('--config-file', 'exit 1'),
      after: { calls: [asksHelp] },
    },
  ],
};
