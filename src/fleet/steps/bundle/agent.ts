import type { Facts } from '../../facts/facts.ts';
import { change, type Refusal, refusal, upload } from '../change.ts';
import { agentArch, managerConfig } from '../manager/config.ts';
import type { Desired, Planned } from '../step.ts';
import { sh } from '../../../shared/base/shell.ts';
import {
  agentDownloads,
  type AgentRelease,
  agentUrl,
  hostAgent,
} from '../../../shared/contract/agent-release.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';

/** Uploads the bundle's agent for slots with `mode: host` where the host lacks it. Without a bundle: nothing. */
export function* uploadAgent(facts: Facts, desired: Desired): Generator<Planned | Refusal> {
  const { included } = desired;
  const release = agentOnHost(facts, desired);
  if (included === undefined || release === undefined) return;
  const { version, sha256 } = release;
  if (facts.manager.archives.includes(sha256)) return;
  const artifact = included.agent(sha256);
  if (artifact?.kind !== 'file') {
    yield refusal(
      'manager',
      `the bundle lacks agent ${version} (sha256 ${sha256 === '' ? 'unknown' : sha256.slice(0, 12)}), which slots with mode: host run`,
      included.rebuild,
    );
    return;
  }
  const { archives } = HostPaths;
  yield change(
    'manager',
    'agent',
    {
      title: `upload agent ${version} from the bundle (${Math.ceil(artifact.size / 1e6)} MB)`,
      why: 'slots with mode: host run it',
      disturbs: 'nothing',
    },
    [
      upload(artifact, `${archives}/${sha256}.tar.gz`, 0o600),
      {
        kind: 'run',
        durable: false,
        timeoutS: 60,
        script: onlyScript(sha256),
        writes: [archives],
      },
    ],
  );
}

/** Removes earlier archives and partial uploads. */
export function onlyScript(sha256: string): string {
  return sh`find ${HostPaths.archives} -type f ! -name ${`${sha256}.tar.gz`} -exec rm -f {} +`;
}

/**
 * Returns the agent that slots with `mode: host` run, with its download address; undefined: no such slots, or no agent for
 * the architecture.
 */
export function agentOnHost(facts: Pick<Facts, 'arch'>, desired: Desired): AgentRelease | undefined {
  const { host, mirrors } = desired;
  const arch = agentArch(facts.arch);
  if (arch === undefined || host.agents.kind !== 'slots') return undefined;
  if (host.agents.slots.every(({ mode }) => mode === 'container')) return undefined;
  const release = hostAgent(managerConfig(desired, arch), arch);
  return { ...release, url: agentUrl(mirrors.agent ?? agentDownloads, release.version, arch) };
}
