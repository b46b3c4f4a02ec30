import { sh } from '../../../shared/base/shell.ts';
import { foreignLine } from '../../../shared/base/foreign-text.ts';
import type { Session } from '../../../fleet/ssh/transport.ts';

/** What setup asks a host beside its facts. */
export interface Surroundings {
  /** As the machine calls itself, without its domain; undefined where that says nothing. */
  readonly hostname: string | undefined;
  /** Mounts of other machines' file systems, where data of a lab often lies. */
  readonly mounts: readonly string[];
}

/** A host can have as many mounts as it likes; more are not offered. */
const mostMounts = 20;

/** Prints the name, then one line a mount: type and path, as /proc/mounts has them. */
export const lookScript = sh`uname -n
while read -r _ path type _; do
  printf '%s %s\n' "$type" "$path"
done </proc/mounts`;

/** File systems that come over a network. */
const shared =
  /^(nfs4?|cifs|smb3|lustre|beegfs|ceph|fuse\.(ceph-fuse|glusterfs|sshfs|juicefs|mfs)|glusterfs|gpfs|wekafs|panfs|orangefs)$/;

export function parseLook(stdout: string): Surroundings {
  const [first = '', ...lines] = stdout.split('\n');
  const [hostname = ''] = foreignLine(first).trim().split('.');
  const mounts = lines.flatMap((line) => {
    const [type = '', path = ''] = line.split(' ');
    return shared.test(type) ? [unescaped(path)] : [];
  });
  return {
    hostname: hostname === '' || hostname === 'localhost' ? undefined : hostname,
    mounts: [...new Set(mounts)].filter((path) => /^\/[\w./@+-]*$/.test(path)).slice(0, mostMounts),
  };
}

/** Blanks stand there in octal. */
function unescaped(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

/** Never a reason for a host not to be ready. */
export async function lookAround(session: Session, signal: AbortSignal): Promise<Surroundings> {
  const result = await session.script(lookScript, {
    as: 'login',
    totalTimeoutMs: 20_000,
    outputLimit: 1024 * 1024,
    signal,
  });
  return parseLook(result.code === 0 ? result.stdout : '');
}
