import { sha256 } from '../../../../../src/shared/base/digest.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { probe } from './probe-case.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';

const change = (host: ScratchHost, id: string, files: Readonly<Record<string, string>>): void => {
  for (const [name, text] of Object.entries(files))
    host.file(`/var/lib/azp-fleet/changes/${id}/${name}`, text);
};

const lockNote =
  '{"who":"ann@laptop","command":"azp-fleet provision","since":"2026-11-21T00:00:00Z","id":"7"}\n';
const held = (host: ScratchHost, pid: string): ScratchHost =>
  host
    .file('/run/azp-fleet/lock')
    .file('/run/azp-fleet/lock.pid', `${pid}\n`)
    .file('/run/azp-fleet/lock.owner', lockNote);

export const managerCases: readonly ScriptCase[] = [
  probe('manager', {
    name: 'the complete state, with salted digests of secrets',
    given: (host) =>
      host
        .file('/etc/machine-id', 'id,with comma\n')
        .link('/opt/azp-fleet/current', 'versions/abc')
        .file('/etc/systemd/system/azp-fleet-manager.service')
        .folder('/run/systemd/system')
        .program('systemctl', 'echo ActiveState=active; echo UnitFileState=enabled; echo NeedDaemonReload=no')
        .file('/etc/azp-fleet/token', 's3cret')
        .file('/etc/azp-fleet/token.next', 'x')
        .file('/etc/azp-fleet/x.part')
        .file('/opt/azp-fleet/y.part.out')
        .file('/root/z.part')
        .file('/var/lib/azp-fleet/folders/f1.tar')
        .file('/var/lib/azp-fleet/folders/f 2.tar')
        .file('/var/lib/azp-fleet/archives/a 1.tar.gz')
        .folder('/var/lib/azp-fleet/archives/a2.tar.gz')
        .folder('/var/lib/azp-fleet/folders/f3.tar')
        .file('/var/lib/azp-fleet/folders/f4.tar.0123.part')
        .file('/etc/systemd/system/azp-fleet-manager.service.0123.part'),
    after: {
      stdout: `current versions/abc
ActiveState=active
UnitFileState=enabled
NeedDaemonReload=no
credential ${sha256('id,with comma:s3cret')}  -
folder /var/lib/azp-fleet/folders/f 2.tar
folder /var/lib/azp-fleet/folders/f1.tar
archive /var/lib/azp-fleet/archives/a 1.tar.gz
left /etc/azp-fleet/token.next
left /etc/systemd/system/azp-fleet-manager.service.0123.part
left /etc/azp-fleet/x.part
left /opt/azp-fleet/y.part.out
left /var/lib/azp-fleet/folders/f4.tar.0123.part
`,
      calls: [
        'systemctl show -p ActiveState -p UnitFileState -p NeedDaemonReload azp-fleet-manager.service init.scope',
      ],
    },
  }),
  probe('manager', {
    name: 'a unit that systemd does not show',
    given: (host) =>
      host
        .file('/etc/systemd/system/azp-fleet-manager.service')
        .folder('/run/systemd/system')
        .program('systemctl', 'echo "no bus" >&2; exit 1', { silent: true }),
    after: { code: 1, stderr: 'no bus\n' },
  }),
  probe('manager', {
    name: 'nothing if it was never installed',
    given: (host) =>
      host.folder('/run/systemd/system').file('/etc/machine-id', 'x\n').program('systemctl', ''),
    after: {},
  }),
  probe('manager', {
    name: 'an earlier installation on a host without systemd',
    given: (host) =>
      host
        .file('/etc/machine-id', 'x\n')
        .file('/etc/systemd/system/azp-fleet-manager.service')
        .file('/etc/azp-fleet/registries', '{"registry.lab": "password"}')
        .file('/etc/azp-fleet/webhook', 'https://hooks.lab/secret')
        .file(
          '/var/lib/azp-fleet/manager.json',
          '{\n  "installation": "0f8e-01",\n  "other": "installation"\n}\n',
        )
        .program('systemctl', ''),
    after: {
      stdout: `registries ${sha256('x:{"registry.lab": "password"}')}  -\nwebhook ${sha256('x:https://hooks.lab/secret')}  -\ninstallation 0f8e-01\n`,
    },
  }),
  probe('manager', {
    name: 'the files of its build context',
    given: (host) =>
      host
        .link('/opt/azp-fleet/current', 'versions/abc')
        .file('/opt/azp-fleet/versions/abc/dockeragent/a b/x', 'x'),
    after: { stdout: `current versions/abc\ncontext\n${sha256('x')}  ./a b/x\n` },
  }),
  probe('manager', {
    name: 'secrets of several lines',
    given: (host) =>
      host
        .file('/etc/machine-id', 'x\n')
        .file('/etc/azp-fleet/token', ' one\\\n\n')
        .file('/etc/azp-fleet/registries', ' {\n  "a": "b" }')
        .file('/etc/azp-fleet/webhook', 'one\n\ntwo'),
    after: {
      stdout: `credential ${sha256('x: one\\')}  -\nregistries ${sha256('x: {\n  "a": "b" }')}  -\nwebhook ${sha256('x:one\n\ntwo')}  -\n`,
    },
  }),
  probe('manager', {
    name: 'the installation in the previous state if the state is damaged',
    given: (host) =>
      host
        .file('/var/lib/azp-fleet/manager.json', '')
        .file('/var/lib/azp-fleet/manager.json.previous', '  "installation": "0f8e-02"\n'),
    after: { stdout: 'installation 0f8e-02\n' },
  }),
  probe('manager-status', {
    name: 'unchanged',
    given: (host) => host.file('/run/azp-fleet/status.json', '{}'),
    after: { stdout: 'present\n{}' },
  }),
  probe('manager-status', {
    name: 'up to the size limit',
    given: (host) => host.file('/run/azp-fleet/status.json', 'x'.repeat(2_097_153)),
    after: { stdout: `present\n${'x'.repeat(2_097_152)}` },
  }),
  probe('manager-status', {
    name: 'a folder in its place',
    given: (host) => host.folder('/run/azp-fleet/status.json'),
    after: {
      code: 1,
      stdout: 'present\n',
      stderr: "head: error reading '/run/azp-fleet/status.json': Is a directory\n",
    },
  }),
  probe('changes', {
    name: 'ended, running and lost ones',
    given: (host) => {
      change(host, 'a,1', { title: 'install  it\n', owner: 'ann', code: '0\n' });
      change(host, 'b,1', { title: 'load it', owner: 'bob\n' });
      change(host, 'c', { title: 'lost\n' });
      change(host, 'f', { title: 'starting\n' });
      change(host, 'g', { title: 'being stopped\n' });
      change(host, 'h', { title: 'without state\n' });
      change(host, 'i', { title: 'failed\n' });
      change(host, 'j', { title: 'ended without a code\n' });
      change(host, 'd', { title: 'cut off\n', code: '' });
      change(host, 'e', { owner: 'eve' });
      host.program(
        'systemctl',
        `case $4 in
          azp-fleet-change-b,1.service) echo SubState=running;;
          azp-fleet-change-f.service) echo SubState=start;;
          azp-fleet-change-g.service) echo SubState=stop-sigterm;;
          azp-fleet-change-h.service) ;;
          azp-fleet-change-i.service) echo SubState=failed;;
          azp-fleet-change-j.service) echo SubState=exited;;
          *) echo SubState=dead;;
        esac`,
      );
    },
    after: {
      stdout: `state a,1 done 0
title install  it
owner ann
state b,1 running
title load it
owner bob
state c dead
title lost
owner${' '}
state d done 1
title cut off
owner${' '}
state f running
title starting
owner${' '}
state g running
title being stopped
owner${' '}
state h running
title without state
owner${' '}
state i dead
title failed
owner${' '}
state j dead
title ended without a code
owner${' '}
`,
      calls: [
        'systemctl show -p SubState azp-fleet-change-b,1.service',
        'systemctl show -p SubState azp-fleet-change-c.service',
        'systemctl show -p SubState azp-fleet-change-f.service',
        'systemctl show -p SubState azp-fleet-change-g.service',
        'systemctl show -p SubState azp-fleet-change-h.service',
        'systemctl show -p SubState azp-fleet-change-i.service',
        'systemctl show -p SubState azp-fleet-change-j.service',
      ],
    },
  }),
  probe('changes', { name: 'none', after: {} }),
  probe('host-lock', {
    name: 'the holder',
    given: (host) =>
      held(host, '812').link('/proc/812/fd/9', '/run/azp-fleet/lock').link('/proc/812/fd/8', '/dev/null'),
    after: { stdout: `held\n${lockNote}` },
  }),
  probe('host-lock', {
    name: 'the holder at any descriptor',
    given: (host) =>
      held(host, '812').link('/proc/812/fd/1', '/dev/null').link('/proc/812/fd/10', '/run/azp-fleet/lock'),
    after: { stdout: `held\n${lockNote}` },
  }),
  probe('host-lock', {
    name: 'truncates a note without an end',
    given: (host) =>
      held(host, '812')
        .link('/proc/812/fd/9', '/run/azp-fleet/lock')
        .file('/run/azp-fleet/lock.owner', 'x'.repeat(5000)),
    after: { stdout: `held\n${'x'.repeat(4096)}` },
  }),
  probe('host-lock', {
    name: 'the process that wrote the note has exited',
    given: (host) => held(host, '812'),
    after: {},
  }),
  probe('host-lock', {
    name: 'another process has its pid',
    given: (host) => held(host, '812').link('/proc/812/fd/9', '/run/other/run/azp-fleet/lock.x'),
    after: {},
  }),
  probe('host-lock', {
    name: 'a partial note: the lock is being taken',
    given: (host) => host.file('/run/azp-fleet/lock').file('/run/azp-fleet/lock.pid', ''),
    after: {},
  }),
  probe('host-lock', {
    name: 'never held',
    given: (host) => host.link('/proc/812/fd/9', '/run/azp-fleet/lock'),
    run: { env: { pid: '812' } },
    after: {},
  }),
];
