import { readdirSync, readFileSync } from 'node:fs';
import { machineRoot } from '../../../src/shared/base/host-root.ts';
import { factProbes, factScript } from '../../../src/fleet/facts/gather.ts';
import { withCuda } from '../../../src/shared/health/cuda.ts';
import { deepScript } from '../../../src/shared/health/deep.ts';
import { gpuUseScript } from '../../../src/fleet/status/gpu-use.ts';
import { aloneScript, listingScript } from '../../../src/shared/health/smi-run.ts';
import { readBootId, rebootScript, settle } from '../../../src/fleet/apply/execute.ts';
import { agentStart } from '../../../src/manager/docker/agent-setup.ts';
import { followNew } from '../../../src/manager/gpus/observe.ts';
import { clearUserScript } from '../../../src/manager/host-mode/user.ts';
import { endScript } from '../../../src/manager/other-processes/watch.ts';
import { installKey } from '../../../src/cli/setup/give-key.ts';
import { detailsScript } from '../../../src/cli/setup/test-host.ts';
import { readAuditScript } from '../../../src/cli/commands/history-audit.ts';
import { configScript } from '../../../src/manager/registration/register-by-config.ts';
import { bootProgram, type BootRequest, type Elevation } from '../../../src/fleet/ssh/session/bootstrap.ts';
import { followChangeScript, startChangeScript } from '../../../src/fleet/ssh/session/durable-change.ts';
import { frameScript } from '../../../src/fleet/ssh/session/frames.ts';
import { lockScript } from '../../../src/fleet/ssh/session/lock.ts';
import { pipeScript } from '../../../src/fleet/ssh/session/socket-agent.ts';
import { awaitTokenScript } from '../../../src/fleet/steps/manager/token.ts';
import { uploadScript } from '../../../src/fleet/ssh/session/upload.ts';

const owner = { who: "ann@o'hara", command: 'azp-fleet provision "a b".yaml', since: '2026-11-21T00:00:00Z' };
const change = {
  id: 'x-1',
  title: `it's "100 %"`,
  owner: owner.who,
  script: 'echo "it\'s $HOME"',
  limitS: 9,
  run: 'r',
  since: owner.since,
};
const elevations: readonly Elevation[] = ['unknown', 'none', 'free', 'password'];
const context = new URL('../../../dockeragent/', import.meta.url);

/** The scripts that depend on no plan: of connections, facts, the manager and the agents' images. */
export function fixedScripts(): [string, string][] {
  return [
    ...session(),
    ...factProbes({ root: machineRoot }).map(({ name, script }): [string, string] => [
      `probe ${name}`,
      script,
    ]),
    ['facts in practice', factScript({ root: { prefix: "/practice it's" } })],
    ['setup looks around', detailsScript],
    ['setup gives a key', installKey("ssh-ed25519 AAAA it's")],
    ['boot id', readBootId],
    ['reboot', rebootScript],
    ['settle', settle],
    ['waits for a token', awaitTokenScript],
    ['the check of the GPUs', listingScript],
    ['the check of CUDA', withCuda(listingScript)],
    ['the deep check', deepScript()],
    ['who has the GPUs open', gpuUseScript(machineRoot)],
    ['the check of each GPU', aloneScript(['0000:18:00.0', '0000:3b:00.0'])],
    ['kernel log', followNew(machineRoot)[1] ?? ''],
    ['config.sh', configScript],
    ['what a user left', clearUserScript],
    ['what a run left on a GPU', endScript],
    [
      'foreign image',
      (agentStart({ kind: 'registry', reference: 'me/agent:1' }, 59_000).Entrypoint as string[])[2] ?? '',
    ],
    ...readdirSync(context)
      .filter((name) => name.endsWith('.sh'))
      .map((name): [string, string] => [name, readFileSync(new URL(name, context), 'utf8')]),
    ...[...readFileSync(new URL('Dockerfile', context), 'utf8').matchAll(/^RUN ((?:.*\\\n)*.*)$/gm)].map(
      ([, text = '']): [string, string] => ['RUN of the Dockerfile', text],
    ),
  ];
}

function session(): [string, string][] {
  const asked = { nonce: 'n0', as: 'root', canAnswer: true, limitS: 70, input: false } as const;
  const boots: BootRequest[] = elevations.flatMap((elevation) => [
    { ...asked, elevation },
    { ...asked, elevation, canAnswer: false, input: true, limitS: undefined },
    { ...asked, elevation, as: 'login' },
  ]);
  const start = startChangeScript(change);
  const frames = frameScript([{ name: 'a', script: "echo 'x'" }], 1000);
  return [
    ['frames', frames],
    ['each frame', quoted(frames, /^each=('[^]*?')$/m)],
    ['upload', uploadScript("/opt/it's/file", 'ab'.repeat(32), 10, 0o755)],
    ['upload packed', uploadScript('/opt/file', 'ab'.repeat(32), 10, 0o600, 'gzip')],
    ['lock', lockScript(owner, 'id', 'break')],
    ['lock again', lockScript(owner, 'id', 'again')],
    [
      'lock with an audit',
      lockScript(owner, 'id', 'first', {
        host: 'box',
        run: 'r',
        who: owner.who,
        command: owner.command,
        plan: 'p',
        changes: ['a', 'b'],
      }),
    ],
    ['reads the audit', readAuditScript],
    ['start', start],
    ['runner', quoted(start, /^ *printf '%s' ('PATH=[^]*?') >"\$d\/runner" &&$/m)],
    ['follow', followChangeScript('x-1', undefined)],
    ['follow on', followChangeScript('x-1', { offset: 12, invocation: 'ab' })],
    ['pipe', pipeScript('/run/a.sock')],
    ['taker', quoted(bootProgram({ ...asked, elevation: 'none' }), /\/bin\/sh -c ('[^]*')$/)],
    ...boots.map((request): [string, string] => [`boot ${request.elevation}`, bootProgram(request)]),
  ];
}

/** Returns a script in the quotes of another one. */
function quoted(script: string, place: RegExp): string {
  const word = place.exec(script)?.[1];
  if (word === undefined) throw new Error(`nothing at ${String(place)}`);
  return word.replaceAll(`'\\''`, '\0').replaceAll("'", '').replaceAll('\0', "'");
}
