import type { Facts } from '../../facts/facts.ts';
import { type Change, type Detail, type Refusal, refusal } from '../change.ts';
import { quiet } from './files.ts';
import { failFunction, Raw, sh } from '../../../shared/base/shell.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';

/** Seconds for the manager to use the token: it reads the file every 5 s, and its pools with it at once. */
const acceptS = 90;

/**
 * Waits until the manager reports that the server has accepted the installed token. Both are compared by a digest, keyed with the
 * machine-id, so that the script holds no secret.
 */
export const awaitTokenScript = sh`${new Raw(failFunction)}
read -r id </etc/machine-id
text=$(cat ${HostPaths.token})
digest=$(printf '%s:%s' "$id" "$text" | sha256sum | cut -c 1-64)
left=${acceptS}
until grep -qF "\"accepted\":\"$digest\"" ${HostPaths.status}; do
  if [ "$left" -eq 0 ]; then
    problem=$(sed -n 's/.*"problems":\[{"code":"\([a-z0-9.-]\{1,64\}\)".*/\1/p' ${HostPaths.status})
    [ -n "$problem" ] || problem='no problem'
    fail "Azure DevOps has not accepted the new token from this host's manager" "a request with it within ${acceptS} s" \
      "the manager reports $problem" 'run azp-fleet status for the cause, fix it, then run the same command again'
  fi
  left=$((left - 1))
  sleep 1
done`;

/**
 * Returns the replacement of a host's token, and the proof that its manager uses it; nothing where both are done. `digest`: of the
 * desired token, keyed with a machine-id. Pure.
 */
export function rotationOf(
  facts: Facts,
  host: string,
  digest: (machineId: string) => string,
): readonly (Change | Refusal)[] {
  const { machineId, manager } = facts;
  const obstacle = obstacleOf(manager);
  if (obstacle !== undefined)
    return [refusal('manager', obstacle, `run "azp-fleet provision ${host}": it also stores the new token`)];
  const desired = digest(machineId);
  const isStored = manager.credentialDigest === desired;
  if (isStored && manager.status?.token?.accepted === desired) return [];
  const wait = {
    kind: 'run',
    durable: false,
    timeoutS: acceptS + 30,
    script: awaitTokenScript,
    writes: [],
  } as const;
  if (isStored)
    return [
      quiet(
        'token-use',
        {
          title: 'wait until the manager uses the token',
          why: 'the host has it, and Azure DevOps has not accepted it from there yet',
          marker: 'change',
        },
        [wait],
      ),
    ];
  return [
    quiet(
      'token',
      {
        title: 'replace the token (root only), and wait until the manager uses it',
        why: manager.credentialDigest === undefined ? 'the host has none' : 'the host has another one',
        marker: 'change',
        details: [continues],
      },
      [{ kind: 'credential', path: HostPaths.token }, wait],
    ),
  ];
}

const continues: Detail = { marker: 'change', text: 'no restart: manager, agents and jobs continue' };

/** Returns why a manager cannot prove which token it uses. */
function obstacleOf({ current, unitActive, status }: Facts['manager']): string | undefined {
  if (current === undefined) return 'the host has no manager';
  if (unitActive !== 'active') return `the manager is ${unitActive ?? 'not running'}`;
  if (status === undefined) return 'the manager has not reported yet';
  if (status.token === undefined)
    return `the manager is ${status.version}, which does not report the token that it uses`;
  return undefined;
}
