import { sh } from '../../../shared/base/shell.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import type { Facts } from '../../facts/facts.ts';
import { change, refusal } from '../changes.ts';
import { upload } from '../manager/parts.ts';
import type { Desired, Planned, Refusal } from '../step.ts';
import { agentOnHost } from './agent-on-host.ts';

/** The agent for slots straight on the host, out of the supplies, where it is not there. Without supplies: none. */
export function* bringAgent(facts: Facts, desired: Desired): Generator<Planned | Refusal> {
  const { supplies } = desired;
  const release = agentOnHost(facts, desired);
  if (supplies === undefined || release === undefined) return;
  const { version, sha256 } = release;
  if (facts.manager.archives.includes(sha256)) return;
  const artifact = supplies.agent(sha256);
  if (artifact?.kind !== 'file') {
    yield refusal(
      'manager',
      `the bundle has no agent ${version} (sha256 ${sha256 === '' ? 'unknown' : sha256.slice(0, 12)}), which agents straight on this host run`,
      supplies.again,
    );
    return;
  }
  const { archives } = HostPaths;
  yield change(
    'manager',
    'agent',
    {
      title: `bring the agent ${version} of the bundle (${Math.ceil(artifact.size / 1e6)} MB)`,
      why: 'agents straight on the host run it',
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

/** Takes away what was brought before it, and what was left of uploads. */
export function onlyScript(sha256: string): string {
  return sh`find ${HostPaths.archives} -type f ! -name ${`${sha256}.tar.gz`} -exec rm -f {} +`;
}
