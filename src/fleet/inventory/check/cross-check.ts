import { checkAgentNames } from './names.ts';
import { checkDockerfiles } from './dockerfiles.ts';
import { checkFile, checkGroups } from './file.ts';
import { checkAddresses, checkAgentDigest, checkHost, type Finding } from './host.ts';
import type { HostSpec, Mirrors } from '../fleet.ts';
import { checkPools } from './pools.ts';
import type { Remainder } from './remainder.ts';

/**
 * Mistakes that only show when several keys are looked at together. Hosts are checked when everything that applies to
 * them is sound: what is wrong in the defaults or in a group would show again at each of its hosts.
 */
export function crossFindings(
  { file, lost }: Remainder,
  hosts: readonly HostSpec[],
  mirrors: Mirrors,
): Finding[] {
  const groups = checkGroups(file);
  const found = [...checkFile(file), ...groups];
  if (groups.length > 0 || lost.has('defaults') || lost.has('groups')) return found;
  const sound = hosts.filter(
    (host) => !lost.has(`hosts/${host.name}`) && !host.groups.some((group) => lost.has(`groups/${group}`)),
  );
  return [
    ...found,
    ...sound.flatMap(checkHost),
    ...checkDockerfiles(sound, hosts),
    ...sound.flatMap(checkPools),
    ...checkAddresses(sound),
    ...checkAgentNames(sound),
    ...checkAgentDigest(sound, mirrors),
  ];
}
