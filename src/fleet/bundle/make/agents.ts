import { Readable } from 'node:stream';

import { FleetError } from '../../../shared/base/errors.ts';
import type { AgentRelease } from '../../../shared/contract/agent-release.ts';
import type { Machine } from '../../packages/vendors.ts';
import type { Manifest } from '../manifest.ts';
import type { Download } from './download.ts';
import type { Spool } from './spool.ts';

export interface AgentsOptions {
  readonly download: Download;
  readonly signal: AbortSignal;
  readonly spool: Spool;
  readonly note: (text: string) => void;
}

/** Fetches an agent's archive, which has to be the one whose digest is known. */
export async function gatherAgent(
  { release, machine }: { readonly release: AgentRelease; readonly machine: Machine },
  { download, signal, spool, note }: AgentsOptions,
): Promise<Manifest['agents'][number]> {
  const { version, url, sha256 } = release;
  note(`fetching the agent ${version} from ${url}`);
  const response = await download(url, { method: 'GET', headers: {}, redirect: 'manual', signal }).catch(
    (error: unknown) => {
      signal.throwIfAborted();
      throw unavailable(release, error instanceof Error ? error.message : String(error), error);
    },
  );
  if (response.status !== 200 || response.body === null)
    throw unavailable(release, `HTTP ${response.status}`);
  const member = await spool.add(Readable.fromWeb(response.body), signal);
  if (member.sha256 === sha256) return { version, machine, sha256 };
  throw new FleetError({
    code: 'agent.other-archive',
    what: `${url} is another archive than the one expected`,
    expected: sha256,
    seen: member.sha256,
    next: 'find out why it has changed; if that is right, put its digest into agent.sha256 of the inventory',
  });
}

function unavailable({ version, url }: AgentRelease, seen: string, cause?: unknown): FleetError {
  return new FleetError(
    {
      code: 'bundle.agent',
      what: `the agent ${version} cannot be had from ${url}`,
      seen,
      next: 'check agent.version in the inventory, the proxy, and mirrors.agent, then run it again',
    },
    { cause },
  );
}
