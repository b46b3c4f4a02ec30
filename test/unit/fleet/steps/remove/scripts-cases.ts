import { HostPaths } from '../../../../../src/shared/contract/paths.ts';
import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { recordFile } from '../../../../../src/fleet/packages/package-record.ts';
import { restoreScript } from '../../../../../src/fleet/steps/remove/daemon-json.ts';
import {
  containersScript,
  filesScript,
  stopScript,
  traceScript,
} from '../../../../../src/fleet/steps/remove/scripts.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';

const unit = 'azp-fleet-manager.service';
const list = "systemctl list-units --all --plain --no-legend 'azp-fleet-agent-*.service'";
const asked = ['docker version', 'docker ps -q --filter label=azp-fleet.kind=agent'];
const file = '/etc/docker/daemon.json';

/** Writes to stdout and stderr as docker does; `removal`: exit code of removing an image or a network. */
const docker = (worker: string, removal = 0) => `case "$1 $*" in
  version*) echo 29.1.0; echo 'a warning' >&2 ;;
  rm*) echo c1 ;;
  *"image rm"* | *"network rm"*) echo removed; exit ${removal} ;;
  *"ps -q"*) echo c1 ;;
  top*) printf 'COMMAND\\nAgent.Listener\\n${worker}\\n'; echo 'a warning' >&2 ;;
  *"ps -aq"*kind=agent*) printf 'c1\\nc2\\n' ;;
  image*ls*) echo azp-fleet/agent:4,cuda-1 ;;
  network*ls*) echo n1 ;;
esac`;

/** `group`: the control group of the agent's unit. */
const systemctl = (group: string) => `case $1 in
  list-units) echo 'azp-fleet-agent-0.service loaded active' ;;
  show) echo ${group} ;;
  cat) echo '[Unit]'; echo 'a warning' >&2 ;;
  reset-failed) echo 'not loaded' >&2; exit 1 ;;
  is-active) [ "$2" = -q ] || echo active ;;
esac`;

/** Prints the rules of IPv4 and of IPv6; removing a rule fails. */
const ip = (v4: string, v6: string) => `case "$*" in
  '-4 rule show') printf '${v4}'; echo 'a warning' >&2 ;;
  '-6 rule show') printf '${v6}'; echo 'a warning' >&2 ;;
  *nop) echo 'no such rule' >&2; exit 2 ;;
  *) exit 2 ;;
esac`;

export const removeSuite: ScriptSuite = {
  name: 'removing azp-fleet',
  given: (host) => {
    host
      .program('systemctl', systemctl('/none'))
      .program('docker', docker('bash'))
      .program('ip', ip('', ''))
      .program('sync', '')
      .file('/etc/passwd', 'root:x:0:0::/root:/bin/sh\nazp-agent-0:x:58000:58000::/:/bin/false\n');
  },
  cases: [
    {
      name: 'stops the manager and its agents, and removes its unit',
      script: stopScript,
      given: (host) =>
        host
          .file(HostPaths.unit, 'unit')
          .file(`${HostPaths.unit}.ab.part`, 'half')
          .file(`${HostPaths.unit}.d/theirs.conf`, 'a drop-in of its owner')
          .file('/etc/systemd/system/other.service', 'x'),
      after: {
        files: { [HostPaths.unit]: 'gone', [`${HostPaths.unit}.ab.part`]: 'gone' },
        calls: [
          ...asked,
          'docker top c1 -eo comm',
          list,
          'systemctl show -p ControlGroup --value azp-fleet-agent-0.service',
          `systemctl cat ${unit}`,
          `systemctl disable -q ${unit}`,
          `systemctl stop ${unit}`,
          list,
          'systemctl stop azp-fleet-agent-0.service',
          'systemctl reset-failed azp-fleet-agent-0.service',
          'systemctl daemon-reload',
          `systemctl reset-failed ${unit}`,
        ],
      },
    },
    {
      name: 'fails first if a job runs without its manager',
      script: stopScript,
      given: (host) => host.file(HostPaths.unit, 'unit').program('docker', docker('Agent.Worker')),
      after: {
        code: 1,
        stderr: `failed: a job still runs on this host
expected: agents without jobs
seen:  c1
next: wait until the job ends, or run systemctl start ${unit} on the host so that its manager waits; then run again
`,
        calls: [
          ...asked,
          'docker top c1 -eo comm',
          list,
          'systemctl show -p ControlGroup --value azp-fleet-agent-0.service',
        ],
      },
    },
    {
      name: 'removes containers, the image by name, the network by label, and firewall rules',
      script: containersScript,
      given: (host) =>
        host.program(
          'ip',
          ip(
            String.raw`0:\tfrom all lookup local\n50:\tfrom all iif azp-fleet0 [detached] ipproto udp dport 53 goto 52\n51:\tfrom all to 169.254.0.0/16 uidrange 58000-58000 prohibit\n51:\tfrom all to 10.0.0.1 iif eth0 prohibit\n51:\tfrom all to 10.0.0.1 uidrange 1000-1000 prohibit\n52:\tfrom all nop\n`,
            String.raw`50:\tfrom all iif azp-fleet0\n51:\tfrom all uidrange 58000-58000\n`,
          ),
        ),
      after: {
        calls: [
          'docker version',
          'docker ps -aq --filter label=azp-fleet.kind=agent',
          'docker rm -fv c1',
          'docker rm -fv c2',
          'docker ps -aq --filter label=azp-fleet.kind=probe',
          'docker ps -aq --filter label=azp-fleet.kind=config',
          "docker image ls --filter label=azp-fleet.kind=image --format '{{.Repository}}:{{.Tag}}' azp-fleet/agent",
          'docker image rm azp-fleet/agent:4,cuda-1',
          "docker network ls -q --filter 'name=^azp-fleet$' --filter label=azp-fleet.kind=network",
          'docker network rm n1',
          'ip -4 rule show',
          'ip -4 rule del pref 50 iif azp-fleet0 ipproto udp dport 53 goto 52',
          'ip -4 rule del pref 51 to 169.254.0.0/16 uidrange 58000-58000 prohibit',
          'ip -4 rule del pref 52 nop',
          'ip -6 rule show',
          'ip -6 rule del pref 50 iif azp-fleet0',
          'ip -6 rule del pref 51 uidrange 58000-58000',
          'ip -6 rule del pref 52 nop',
        ],
      },
    },
    {
      name: 'keeps and reports an image and a network in use',
      script: containersScript,
      given: (host) => host.program('docker', docker('bash', 1)),
      after: {
        stdout: `left: azp-fleet/agent:4,cuda-1 is in use by other containers
left: other containers use azp-fleet's network
`,
        calls: [
          'docker version',
          'docker ps -aq --filter label=azp-fleet.kind=agent',
          'docker rm -fv c1',
          'docker rm -fv c2',
          'docker ps -aq --filter label=azp-fleet.kind=probe',
          'docker ps -aq --filter label=azp-fleet.kind=config',
          "docker image ls --filter label=azp-fleet.kind=image --format '{{.Repository}}:{{.Tag}}' azp-fleet/agent",
          'docker image rm azp-fleet/agent:4,cuda-1',
          "docker network ls -q --filter 'name=^azp-fleet$' --filter label=azp-fleet.kind=network",
          'docker network rm n1',
          'ip -4 rule show',
          'ip -4 rule del pref 52 nop',
          'ip -6 rule show',
          'ip -6 rule del pref 52 nop',
        ],
      },
    },
    {
      name: 'fails first if jobs run in a container and in an agent unit on the host',
      script: stopScript,
      given: (host) =>
        host
          .file(HostPaths.unit, 'unit')
          .program('docker', docker('Agent.Worker'))
          .program('systemctl', systemctl('/system.slice/agent-0'))
          .file('/sys/fs/cgroup/system.slice/agent-0/cgroup.procs', '41\n42\n43\n')
          .file('/proc/41/comm', 'Agent.Listener\n')
          .file('/proc/42/comm', 'Agent.Worker\n'),
      after: {
        code: 1,
        stderr: `failed: a job still runs on this host
expected: agents without jobs
seen:  c1 azp-fleet-agent-0.service
next: wait until the job ends, or run systemctl start ${unit} on the host so that its manager waits; then run again
`,
        calls: [
          ...asked,
          'docker top c1 -eo comm',
          list,
          'systemctl show -p ControlGroup --value azp-fleet-agent-0.service',
        ],
      },
    },
    {
      name: 'stops agents on the host without a job',
      script: stopScript,
      given: (host) =>
        host
          .program('systemctl', systemctl('/system.slice/agent-0'))
          .file('/sys/fs/cgroup/system.slice/agent-0/cgroup.procs', '41\n')
          .file('/proc/41/comm', 'Agent.Listener\n'),
      after: {
        calls: [
          ...asked,
          'docker top c1 -eo comm',
          list,
          'systemctl show -p ControlGroup --value azp-fleet-agent-0.service',
          `systemctl cat ${unit}`,
          `systemctl disable -q ${unit}`,
          `systemctl stop ${unit}`,
          list,
          'systemctl stop azp-fleet-agent-0.service',
          'systemctl reset-failed azp-fleet-agent-0.service',
          'systemctl daemon-reload',
          `systemctl reset-failed ${unit}`,
        ],
      },
    },
    {
      name: 'fails if the engine does not answer, because its containers would start again',
      script: containersScript,
      given: (host) =>
        host
          .program('docker', 'echo down; echo down >&2; exit 1')
          .program('systemctl', 'echo failed by itself; exit 3'),
      after: {
        code: 1,
        stderr: `failed: Docker Engine does not answer
expected: a list of its containers and images
seen: failed by itself
next: start it (systemctl start docker), and run again
`,
        calls: ['docker version', 'systemctl is-active docker.service'],
      },
    },
    {
      name: 'removes users and folders, but keeps its own record until the end',
      script: filesScript(['azp-agent-0']),
      given: (host) =>
        host
          .program('pkill', 'exit 1')
          .program('userdel', '')
          .program('getent', 'echo azp-agent-0; exit 2')
          .program('rm', 'exec /bin/rm "$@"')
          .file(`${HostPaths.opt}/current`, 'x')
          .file(HostPaths.token, 'secret')
          .file(`${HostPaths.agents}/0/work`, 'x')
          .file(`${HostPaths.state}/manager.json`, 'x')
          .file(recordFile, 'part docker\n')
          .file(`${HostPaths.state}/lock.last`, 'me')
          .file(`${HostPaths.changes}/this/script`, 'x')
          .file(`${HostPaths.runfile}/installed`, '580.95.05 compute\n')
          .file('/opt/other/x', 'x'),
      after: {
        calls: [
          'pkill -KILL -U azp-agent-0',
          'userdel azp-agent-0',
          'getent group azp-agent-0',
          `rm -rf --one-file-system ${HostPaths.agents} ${HostPaths.etc} ${HostPaths.opt}`,
          `rm -rf --one-file-system ${HostPaths.state}/manager.json`,
          `rm -rf ${HostPaths.runfile}/fetched`,
        ],
        files: {
          [HostPaths.opt]: 'gone',
          [`${HostPaths.opt}/current`]: 'gone',
          [HostPaths.etc]: 'gone',
          [HostPaths.token]: 'gone',
          [HostPaths.agents]: 'gone',
          [`${HostPaths.agents}/0`]: 'gone',
          [`${HostPaths.agents}/0/work`]: 'gone',
          [`${HostPaths.state}/manager.json`]: 'gone',
        },
      },
    },
    {
      name: 'removes the records last, and all of /run but the held lock',
      script: traceScript([], false),
      given: (host) =>
        host
          .file(`${HostPaths.state}/lock.last`, 'me')
          .file(`${HostPaths.changes}/this/script`, 'x')
          .file(`${HostPaths.run}/lock.owner`, 'me')
          .file(HostPaths.status, '{}')
          .program('rm', 'exec /bin/rm "$@"'),
      after: {
        calls: [`rm -rf --one-file-system ${HostPaths.state}`],
        files: {
          [HostPaths.state]: 'gone',
          [`${HostPaths.state}/lock.last`]: 'gone',
          [HostPaths.changes]: 'gone',
          [`${HostPaths.changes}/this`]: 'gone',
          [`${HostPaths.changes}/this/script`]: 'gone',
          [HostPaths.status]: 'gone',
        },
      },
    },
    {
      name: 'works with an empty /run after a boot',
      script: traceScript([], false),
      given: (host) => host.file(`${HostPaths.state}/lock.last`, 'me'),
      after: { files: { [HostPaths.state]: 'gone', [`${HostPaths.state}/lock.last`]: 'gone' } },
    },
    ...(
      [
        ['all', traceScript([], false)],
        ['all but the notes of packages', traceScript(['part docker'], false)],
        ['all but the notes of a .run file', traceScript([], true)],
      ] as const
    ).map(([what, script]) => ({
      name: `fails if files stay: ${what}`,
      script,
      given: (host: ScratchHost) =>
        host
          .file(recordFile, 'part docker\n')
          .file(`${recordFile}.new`, 'half')
          .file(`${HostPaths.runfile}/installed`, '580.95.05 compute\n')
          .file(`${HostPaths.state}/busy`, 'x')
          .program('rm', '', { silent: true }),
      after: {
        code: 1,
        ...(what.includes('packages')
          ? { calls: [`sync ${recordFile}.new`], files: { [`${recordFile}.new`]: 'gone' } }
          : {}),
      },
    })),
    {
      name: 'fails if a file stays in the place of the folder',
      script: traceScript([], false),
      given: (host) => host.file(HostPaths.state, 'x').program('rm', '', { silent: true }),
      after: { code: 1 },
    },
    {
      name: 'keeps the records of packages and of a .run file',
      script: traceScript(['part docker', 'brought docker-ce'], true),
      given: (host) =>
        host
          .file(recordFile, 'part docker\nbrought docker-ce\n')
          .file(`${HostPaths.runfile}/installed`, '580.95.05 compute\n')
          .file(`${HostPaths.state}/lock.last`, 'me')
          .program('rm', 'exec /bin/rm "$@"'),
      after: {
        calls: [`sync ${recordFile}.new`, `rm -rf --one-file-system ${HostPaths.state}/lock.last`],
        files: { [`${HostPaths.state}/lock.last`]: 'gone' },
      },
    },
    {
      name: 'keeps only the record of a .run file without packages of ours',
      script: traceScript([], true),
      given: (host) =>
        host
          .file(recordFile, 'part docker\ntheirs docker-ce\n')
          .file(`${HostPaths.runfile}/installed`, '580.95.05 compute\n')
          .file(`${HostPaths.state}/lock.last`, 'me')
          .program('rm', 'exec /bin/rm "$@"'),
      after: {
        calls: [`rm -f ${recordFile}`, `rm -rf --one-file-system ${HostPaths.state}/lock.last`],
        files: { [`${HostPaths.state}/lock.last`]: 'gone', [recordFile]: 'gone' },
      },
    },
    {
      name: 'shortens the record to packages that stay',
      script: traceScript(['part docker', 'brought docker-ce'], false),
      given: (host) =>
        host
          .file(`${recordFile}.new`, 'half\n')
          .file(recordFile, 'part docker\nbrought docker-ce\npart driver\nbrought libcuda1\n', {
            mode: 0o600,
          })
          .file(`${HostPaths.changes}/this/script`, 'x')
          .file(`${HostPaths.run}/lock.owner`, 'me')
          .file(HostPaths.status, '{}')
          .program('rm', 'exec /bin/rm "$@"'),
      after: {
        files: {
          [recordFile]: '644 part docker\nbrought docker-ce\n',
          [`${recordFile}.new`]: 'gone',
          [HostPaths.changes]: 'gone',
          [`${HostPaths.changes}/this`]: 'gone',
          [`${HostPaths.changes}/this/script`]: 'gone',
          [HostPaths.status]: 'gone',
        },
        calls: [`sync ${recordFile}.new`, `rm -rf --one-file-system ${HostPaths.changes}`],
      },
    },
    {
      name: 'restores daemon.json exactly, and reloads the engine without a restart',
      script: restoreScript({ from: 'ours', to: "it's theirs", keeps: false }),
      given: (host) =>
        host
          .file(file, 'ours')
          .file(`${file}.new`, 'half', { mode: 0o600 })
          .file(`${file}.before-azp-fleet`, "it's theirs")
          .file(`${file}.previous`, 'x'),
      run: { umask: '077' },
      after: {
        files: {
          [`${file}.new`]: 'gone',
          [file]: "644 it's theirs",
          [`${file}.before-azp-fleet`]: 'gone',
          [`${file}.previous`]: 'gone',
        },
        calls: ['systemctl is-active -q docker.service', 'systemctl reload docker.service'],
      },
    },
    {
      name: 'removes a daemon.json that did not exist before',
      script: restoreScript({ from: 'ours', to: undefined, keeps: false }),
      given: (host) => host.file(file, 'ours').program('systemctl', 'exit 3'),
      after: { files: { [file]: 'gone' }, calls: ['systemctl is-active -q docker.service'] },
    },
    {
      name: 'keeps the copy, and removes the previous file',
      script: restoreScript({ from: 'ours', to: undefined, keeps: true }),
      given: (host) =>
        host
          .file(file, 'ours')
          .file(`${file}.before-azp-fleet`, 'theirs')
          .file(`${file}.previous`, 'x')
          .program('systemctl', 'exit 3'),
      after: {
        files: { [file]: 'gone', [`${file}.previous`]: 'gone' },
        calls: ['systemctl is-active -q docker.service'],
      },
    },
    {
      name: 'removes copies of a file that did not exist before',
      script: restoreScript({ from: 'ours', to: undefined, keeps: false }),
      given: (host) =>
        host
          .file(file, 'ours')
          .file(`${file}.before-azp-fleet`, 'theirs')
          .file(`${file}.previous`, 'x')
          .program('systemctl', 'exit 3'),
      after: {
        files: { [file]: 'gone', [`${file}.before-azp-fleet`]: 'gone', [`${file}.previous`]: 'gone' },
        calls: ['systemctl is-active -q docker.service'],
      },
    },
    {
      name: 'leaves a changed daemon.json',
      script: restoreScript({ from: 'ours', to: undefined, keeps: true }),
      given: (host) => host.file(file, 'theirs'),
      after: {
        code: 1,
        stderr: `failed: ${file} has changed since the plan
expected: sha256 ${sha256('ours')}
seen: ${sha256('theirs')}
next: run again
`,
      },
    },
  ],
};
