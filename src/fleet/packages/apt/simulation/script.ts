import { quote, sh } from '../../../../shared/base/shell.ts';
import { proxyExports } from '../../proxy.ts';
import { vendorsOf, type Asked, type Question } from '../../simulation.ts';
import type { Transaction } from '../../transaction.ts';
import type { Vendor } from '../../vendors.ts';
import { consequenceFilters } from '../consequences.ts';
import { download } from '../download.ts';
import { describeFunction } from '../flat.ts';
import { aptPrelude } from '../prelude.ts';
import { relatives, requestLines } from '../request.ts';
import { makeScratch, trustSite } from './scratch.ts';
import { simulationFunctions } from './functions.ts';
import { sourceParts, type SourceParts } from '../source.ts';

/**
 * Asks apt what transactions would do, in a world of its own. Answers go to descriptor 3, in the words of answers.ts.
 * `index`: of packages that will be all there is; the host's sources are not asked then.
 */
export function simulateScript({ asked, missing, system, site }: Question, index?: string): string {
  const vendors = [...new Set([...missing, ...vendorsOf(asked)])];
  const parts = (vendor: Vendor): SourceParts => sourceParts(vendor, system, site);
  const { caPem } = site;
  const sourcesOf = (): readonly string[] => [
    linkSources([...missing, ...withoutVendors(asked)].map(parts)),
    download,
    ...missing.map((vendor) => addSource(vendor, parts(vendor))),
    'wait',
    'read_lists',
    ...vendors.map((vendor) => sh`listen ${vendor} ${parts(vendor).uri} ${parts(vendor).file}`),
  ];
  return [
    'exec 3>&1 >&2',
    ...proxyExports(site.proxy),
    aptPrelude,
    consequenceFilters,
    makeScratch,
    ...(caPem === undefined ? [] : [trustSite(caPem)]),
    simulationFunctions,
    ...(index === undefined ? sourcesOf() : [onlyThese(index)]),
    ...asked.map(simulation),
  ].join('\n');
}

/** A source that has nothing but what the index says. Quoted, the text is taken as it is. */
function onlyThese(index: string): string {
  // The package that pins brings nothing that is known before it is there, and there is no other version beside it.
  return `${describeFunction}
pin() {
  bring "$@"
}
mkdir index
cat >index/Packages <<'END OF INDEX'
${index}
END OF INDEX
describe index
echo "deb [trusted=yes] file:$scratch/index ./" >sources.list
timeout -k 5 60 apt-get -q update </dev/null`;
}

function withoutVendors(asked: readonly Asked[]): Vendor[] {
  const vendors = asked.map(({ transaction: { without } }) => without);
  return [...new Set(vendors.filter((vendor) => vendor !== undefined))];
}

/** The host's sources, without those that would be switched off, and those that are written anew. */
function linkSources(others: readonly SourceParts[]): string {
  const replaced = others.flatMap(({ uri, file, supersedes }) => [
    sh`if [ "$other" = ${file} ] || grep -Eq ${supersedes} "$other" || grep -Fq ${uri} "$other"; then continue; fi`,
  ]);
  return [
    'if [ -e /etc/apt/sources.list ]; then ln -s /etc/apt/sources.list sources.list; fi',
    'for other in /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do',
    '  if [ ! -e "$other" ]; then continue; fi',
    ...replaced.map((line) => `  ${line}`),
    '  ln -s "$other" "$sources/"',
    'done',
  ].join('\n');
}

/** All at the same time: a vendor that does not answer costs the time limit once. */
function addSource(vendor: Vendor, { file, keyFile, text, fetchKey }: SourceParts): string {
  const name = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
  return `(
  work=$scratch/${vendor} key=$scratch/keys/${name(keyFile)}
  mkdir "$work"
  if id _apt >/dev/null 2>&1; then chown _apt "$work"; fi
  ${fetchKey.replaceAll('\n', '\n  ')}
  [ -s "$key" ]
  printf %s ${quote(text)} | sed "s|^Signed-By: .*|Signed-By: $key|" >"$sources/${name(file)}"
) >${vendor}.words 2>&1 &`;
}

function simulation({ key, transaction }: Asked): string {
  const { packages, siblings, remove, variants, formerly = variants, before } = transaction;
  const names = packages.map(({ name }) => name);
  const related = relatives(names, siblings, formerly);
  return [
    sh`begin ${key}`,
    'set +e',
    '(',
    'set -e',
    sh`variants() { of_any_branch ${variants ?? names.slice(0, 1)}; }`,
    '# Package names hold no blanks, and are meant to be split.',
    '# shellcheck disable=SC2046',
    sh`unheld ${[...names, ...remove]} ${related}`,
    ...(remove.length === 0 ? [] : [sh`lift_pins ${remove}`]),
    ...(before === undefined ? [] : [before]),
    ...requestLines(transaction),
    ...(chooses(transaction) ? ['echo "version $version" >&3'] : []),
    '# shellcheck disable=SC2086',
    'ask "$@" $brought',
    ')',
    'finish "$?"',
    'set -e',
  ].join('\n');
}

function chooses({ packages }: Transaction): boolean {
  return packages.some(({ version }) => version !== undefined);
}
