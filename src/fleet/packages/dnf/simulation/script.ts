import { quote, sh } from '../../../../shared/base/shell.ts';
import { proxyExports } from '../../proxy.ts';
import { vendorsOf, type Asked, type Question } from '../../simulation.ts';
import type { Vendor } from '../../vendors.ts';
import { consequenceFilters } from '../consequences.ts';
import { repositoryId } from '../files.ts';
import { dnfPrelude } from '../prelude.ts';
import { relatives, requestLines } from '../request.ts';
import { sourceParts, type SourceParts } from '../source.ts';
import { simulationFunctions } from './functions.ts';
import { makeScratch, trustSite } from './scratch.ts';

/**
 * Asks dnf what transactions would do, in a world of its own. Answers go to descriptor 3, in the words of answers.ts.
 * `only`: shell text that makes the one source there is, in `$sources`; the host's are not asked then.
 */
export function simulateScript(
  { asked, missing, system, site }: Question,
  ...only: readonly string[]
): string {
  const vendors = [...new Set([...missing, ...vendorsOf(asked)])];
  const parts = (vendor: Vendor): SourceParts => sourceParts(vendor, system, site);
  const { caPem } = site;
  return [
    'exec 3>&1 >&2',
    ...proxyExports(site.proxy),
    dnfPrelude,
    consequenceFilters,
    makeScratch,
    ...(caPem === undefined ? [] : [trustSite(caPem)]),
    simulationFunctions,
    ...(only.length === 0 ? [linkSources(missing.map(parts))] : only),
    ...missing.map((vendor) => addSource(parts(vendor))),
    'read_lists',
    ...(only.length > 0 ? [] : vendors).map((vendor) => sh`listen ${vendor} ${repositoryId(vendor)}`),
    ...asked.map(simulation),
  ].join('\n');
}

/** The host's sources, without those that would be switched off, and those that are written anew. */
function linkSources(missing: readonly SourceParts[]): string {
  const replaced = missing.map(
    ({ uri, file, supersedes }) =>
      sh`  if [ "$other" = ${file} ] || grep -Eq ${supersedes} "$other" || grep -Fq ${uri} "$other"; then continue; fi`,
  );
  return [
    'for other in /etc/yum.repos.d/*.repo; do',
    '  if [ ! -e "$other" ]; then continue; fi',
    ...replaced,
    '  ln -s "$other" "$sources/"',
    'done',
  ].join('\n');
}

/** Nothing is downloaded but lists: the key is not looked at. */
function addSource({ file, text }: SourceParts): string {
  return `printf %s ${quote(text)} >"$sources/${file.slice(file.lastIndexOf('/') + 1)}"`;
}

function simulation({ key, transaction }: Asked): string {
  const { packages, siblings, remove, variants, before } = transaction;
  const names = packages.map(({ name }) => name);
  const related = relatives(names, siblings);
  return [
    sh`begin ${key}`,
    'set +e',
    '(',
    'set -e',
    sh`variants() { of_any_branch ${variants ?? names.slice(0, 1)}; }`,
    ...(names.length === 0 ? [] : ['can_hold']),
    '# Package names hold no blanks, and are meant to be split.',
    '# shellcheck disable=SC2046',
    sh`unheld ${[...names, ...remove]} ${related}`,
    ...(before === undefined ? [] : [before]),
    ...requestLines(transaction),
    ...(packages.some(({ version }) => version !== undefined) ? ['echo "version $version" >&3'] : []),
    '# shellcheck disable=SC2086',
    'ask "$@" $brought',
    ')',
    'finish "$?"',
    'set -e',
  ].join('\n');
}
