import { dirname } from 'node:path';

import { Raw, sh } from '../../shared/base/shell.ts';
import { bundleAnswers, parseAnswers, type Dialect } from './answers.ts';
import { folderMark, packagesFolder, type PackageManager } from './package-manager.ts';
import { proxyExports } from './shell.ts';
import { vendorsOf, type Asked, type Bound, type Question } from './simulation.ts';
import type { Transaction, WantedVersion } from './transaction.ts';
import type { Vendor } from './vendors.ts';

/**
 * The scripts that are the same for every package manager: install, hold, simulate, use a folder of packages. Each takes the
 * shell text in which package managers differ.
 */

/** The shell text of one package manager's installation. Lists are empty if it needs nothing. */
export interface TransactionParts {
  /** `apt` */
  readonly name: string;
  /** Shell functions of an installation: `update`, `hold`, `wait_for_lock`, `removals`, `downgrades`, `unforeseen`. */
  readonly functions: readonly string[];
  /** The same for a script that only holds. */
  readonly holdFunctions: readonly string[];
  /** Lines of `guard` that put what the package manager would do with `"$@"` into `$answer`. */
  readonly ask: readonly string[];
  /** Shell functions that use `guard`: what installs, and what `before` of a transaction calls. */
  readonly bring: readonly string[];
  /**
   * Completes what an interrupted installation left; empty: `update` does. `guard` does it where a request alone would fail, and then
   * calls `"$again" "$@"`: what was completed may change the request. `completesFirst` tells which transactions begin with it.
   */
  readonly complete: readonly string[];
  /** Installs the plugin that holds need. */
  readonly canHold: readonly string[];
  readonly sourceFile: (vendor: Vendor) => string;
  /** Switches off the sources of a vendor whose packages have the same names. */
  readonly switchOff?: (vendor: Vendor) => string;
  readonly unhold: (names: readonly string[], related: Raw) => string;
  /** Packages that are held together with the first one. */
  readonly related: (transaction: Transaction) => Raw;
  /** Lines that set `"$@"` to the request, and `$version` to the version that was chosen last. */
  readonly request: (transaction: Transaction) => readonly string[];
  /**
   * Shell function `unpack NAME WORD…`: fetches the package as the request names it, checks its signature, and puts its files below
   * `$trial/files`.
   */
  readonly unpack: (vendor: Vendor | undefined) => string;
  /** Installs the request. */
  readonly perform: string;
  /** Ends the script if the package has another version. */
  readonly confirm: (desired: Transaction['packages'][number]) => readonly string[];
  /** Removes settings that a removed package leaves behind, and that still have an effect. */
  readonly purge: (transaction: Transaction) => readonly string[];
}

export const splitting = '# Package names hold no blanks, and are meant to be split.';

/** For root only, on a file system that runs programs, unlike some /tmp. */
const trialFolder = '/opt/azp-fleet/trial';

/**
 * Unhold, check what would be removed, install exactly, confirm, hold. The holds are set again however the script ends.
 * `standIns`: shell functions that replace those that install packages.
 */
function installScript(
  parts: TransactionParts,
  transaction: Transaction,
  bound?: Bound,
  ...standIns: readonly string[]
): string {
  const { vendor, without, packages, remove, proxy, before, trial, after } = transaction;
  const names = packages.map(({ name }) => name);
  const related = parts.related(transaction);
  const opening = [
    ...proxyExports(proxy),
    ...parts.functions,
    guard(parts, transaction, bound),
    ...(parts.complete.length === 0 ? [] : ['again=guard']),
    ...parts.bring,
    ...standIns,
    ...(trial === undefined ? [] : [parts.unpack(vendor)]),
  ];
  const cleaning = trial === undefined ? '' : `rm -rf ${trialFolder}; `;
  const lists = sh`update ${vendor === undefined ? '' : parts.sourceFile(vendor)}`;
  if (packages.length === 0)
    return [...opening, lists, ...parts.complete, before, after].filter(Boolean).join('\n');
  return [
    ...opening,
    splitting,
    '# shellcheck disable=SC2046',
    `hold_all() { ${cleaning}${sh`hold ${names} ${related}`}; }`,
    ...(without === undefined || parts.switchOff === undefined ? [] : [parts.switchOff(without)]),
    lists,
    ...parts.canHold,
    'trap hold_all EXIT',
    '# shellcheck disable=SC2046',
    parts.unhold([...names, ...remove], related),
    ...(completesFirst(transaction) ? parts.complete : []),
    ...(before === undefined ? [] : [before]),
    ...guarded(parts, transaction),
    ...(trial === undefined ? [] : tryFirst(trial)),
    parts.perform,
    ...packages.flatMap(parts.confirm),
    ...parts.purge(transaction),
    'hold_all',
    'trap - EXIT',
    ...(after === undefined ? [] : [after]),
  ].join('\n');
}

/** Removals decide by which packages an interrupted installation is completed, and without packages `before` decides. */
function completesFirst({ packages, remove }: Transaction): boolean {
  return packages.length === 0 || remove.length > 0;
}

/** Lines that set `"$@"` to the request once `guard` has checked it. */
function guarded({ complete, request }: TransactionParts, transaction: Transaction): readonly string[] {
  const lines = [...request(transaction), 'guard "$@"'];
  if (complete.length === 0 || completesFirst(transaction)) return lines;
  return [
    'renew() { renewed=yes; }',
    'again=renew',
    'renew',
    'while [ -n "$renewed" ]; do',
    'renewed=',
    ...lines,
    'done',
    'again=guard',
  ];
}

function tryFirst(trial: NonNullable<Transaction['trial']>): readonly string[] {
  return [
    `trial=${trialFolder}
rm -rf "$trial"
install -d -m 755 ${dirname(trialFolder)}
install -d -m 700 "$trial" "$trial/files"`,
    sh`unpack ${trial.package} "$@"`,
    trial.script,
    'rm -rf "$trial"',
  ];
}

/** Holds packages that are installed already. */
export function holdScript(
  { holdFunctions, canHold }: TransactionParts,
  names: readonly string[],
  siblings: readonly string[] = [],
): string {
  const split = siblings.length === 0 ? [] : ['# shellcheck disable=SC2046'];
  const hold = sh`hold ${names} ${siblingsOf(names, siblings)}`.trimEnd();
  return [...holdFunctions, ...canHold, ...split, hold].join('\n');
}

/** Shell function `guard`: ends the script if the package manager would do more than planned. */
function guard(
  { name, ask }: TransactionParts,
  { remove, mayRemove }: Transaction,
  bound: Bound | undefined,
): string {
  const removes = bound?.removes ?? [...new Set([...remove, ...mayRemove])];
  const next =
    bound === undefined
      ? 'remove them by hand if nothing needs them, or remove this host from the inventory, and run again'
      : 'run again and confirm the new plan';
  return [
    'guard() {',
    ...ask.map((line) => `  ${line}`),
    stop('removals', removes, `${name} would also remove other packages`, 'be removed', next),
    ...(bound === undefined
      ? []
      : [
          stop(
            'downgrades',
            bound.downgrades,
            `${name} would also downgrade other packages`,
            'be downgraded',
            next,
          ),
        ]),
    '}',
  ].join('\n');
}

function stop(filter: string, foreseen: readonly string[], what: string, may: string, next: string): string {
  const expected = foreseen.length === 0 ? `none may ${may}` : `only ${foreseen.join(', ')} may ${may}`;
  const beyond = foreseen.length === 0 ? filter : `${filter} | ${sh`unforeseen ${foreseen}`}`;
  return sh`  unforeseen=$(printf '%s\n' "$answer" | ${new Raw(beyond)} | tr '\n' ' ')
  [ -z "$unforeseen" ] || fail ${what} ${expected} "$unforeseen" ${next}`;
}

/** Shell text for the installed packages that match a pattern of `siblings` and have the version of the first, or of one of `formerly`. */
export function siblingsOf(
  [first = '']: readonly string[],
  siblings: readonly string[] = [],
  formerly: readonly string[] = [first],
): Raw {
  if (siblings.length === 0) return new Raw('');
  return new Raw(formerly.map((name) => sh`$(siblings ${[name, ...siblings]})`).join(' '));
}

/** `29.7.2-`, which no other release begins with; `580.`, which every release of the branch does. */
export function versionPrefix(version: WantedVersion): string {
  return 'release' in version ? `${version.release}-` : `${version.branch}.`;
}

/** The shell text of one package manager's simulation. */
export interface SimulationParts extends Pick<
  TransactionParts,
  'related' | 'request' | 'canHold' | 'complete'
> {
  readonly dialect: Dialect;
  /** Shell functions, then the folder that the simulation works in. */
  readonly functions: readonly string[];
  /** Makes the package manager trust the site's authority besides those of the host, which may lack it. */
  readonly trustSite: (caPem: string) => string;
  /** Shell functions that replace those that change the host. */
  readonly standIns: string;
  /** Links the host's sources into the folder, adds missing ones, reads the lists, and prints sources that do not answer. */
  readonly sources: (question: Question, vendors: readonly Vendor[]) => readonly string[];
  /** Removes the pins of packages that the transaction removes. */
  readonly liftPins: (names: readonly string[]) => readonly string[];
}

/**
 * Simulates transactions in a folder that only the simulation uses. It writes its answers to
 * descriptor 3, in the form that answers.ts reads. `only`: shell text that writes the only source, instead of the host's.
 */
function simulateScript(parts: SimulationParts, question: Question, ...only: readonly string[]): string {
  const { asked, missing, site } = question;
  const { caPem } = site;
  return [
    'exec 3>&1 >&2',
    ...proxyExports(site.proxy),
    ...parts.functions,
    ...(caPem === undefined ? [] : [parts.trustSite(caPem)]),
    parts.standIns,
    ...(only.length > 0 ? only : parts.sources(question, [...new Set([...missing, ...vendorsOf(asked)])])),
    ...asked.map((each) => simulation(parts, each)),
  ].join('\n');
}

function simulation(parts: SimulationParts, { key, transaction }: Asked): string {
  const { packages, remove, variants, before } = transaction;
  const names = packages.map(({ name }) => name);
  return [
    sh`begin ${key}`,
    'set +e',
    '(',
    'set -e',
    sh`variants() { of_any_branch ${variants ?? names.slice(0, 1)}; }`,
    ...(names.length === 0 ? [] : parts.canHold),
    splitting,
    '# shellcheck disable=SC2046',
    sh`unheld ${[...names, ...remove]} ${parts.related(transaction)}`,
    ...(completesFirst(transaction) ? parts.complete : []),
    ...(remove.length === 0 ? [] : parts.liftPins(remove)),
    ...(before === undefined ? [] : [before]),
    ...parts.request(transaction),
    ...(packages.some(({ version }) => version !== undefined) ? ['echo "version $version" >&3'] : []),
    '# shellcheck disable=SC2086',
    'ask "$@" $brought',
    ')',
    'finish "$?"',
    'set -e',
  ].join('\n');
}

/** The shell text of one package manager that uses a folder of packages instead of its sources. */
export interface FolderParts {
  /** Shell text: as long as the script runs, the package manager knows only the folder. */
  readonly onlyTheFolder: string;
  /** Shell text of a simulation: the only source has the packages of `index`. */
  readonly onlyThese: (index: string, next: string) => readonly string[];
  /** Shell functions that replace those that would add a source. `next`: the next action. */
  readonly standIns: (next: string) => readonly string[];
  /** Scripts besides `install` that install packages, each run with the folder alone. */
  readonly others: (alone: (script: string) => string) => Partial<PackageManager>;
}

/** The parts of a package manager: its shell text, and members that the frames above do not build. */
interface OwnParts extends Omit<PackageManager, 'install' | 'hold' | 'simulator' | 'offline'> {
  readonly transactions: TransactionParts;
  readonly simulation: SimulationParts;
  readonly folder: FolderParts;
  readonly offline: Omit<PackageManager['offline'], 'folder' | 'mark' | 'manager'>;
}

/** Returns a package manager whose scripts are the frames above with its own shell text. */
export function packageManager({
  transactions,
  simulation: simulated,
  folder,
  offline,
  ...own
}: OwnParts): PackageManager {
  const manager: PackageManager = {
    ...own,
    install: (transaction, bound) => installScript(transactions, transaction, bound),
    hold: (names, siblings) => holdScript(transactions, names, siblings),
    simulator: {
      script: (question) => simulateScript(simulated, question),
      parse: (output, asked) => parseAnswers(simulated.dialect, output, asked),
    },
    offline: {
      ...offline,
      folder: packagesFolder,
      mark: folderMark,
      manager: (index, next) =>
        fromFolder(manager, { transactions, simulation: simulated, folder }, index, next),
    },
  };
  return manager;
}

/** Returns `manager` with only the packages of the folder. `index` names them; `next`: the next action if one is missing. */
function fromFolder(
  manager: PackageManager,
  { transactions, simulation: simulated, folder }: Pick<OwnParts, 'transactions' | 'simulation' | 'folder'>,
  index: string,
  next: string,
): PackageManager {
  const { onlyTheFolder, onlyThese, standIns, others } = folder;
  // The script has not read the host's own lists.
  const alone = (script: string): string => `${onlyTheFolder}${script}\nrm -f /run/azp-fleet/package-lists`;
  return {
    ...manager,
    ...others(alone),
    install: ({ vendor: _none, ...transaction }, bound) =>
      alone(installScript(transactions, transaction, bound, ...standIns(next))),
    simulator: {
      script: (question) =>
        simulateScript(simulated, { ...question, missing: [] }, ...onlyThese(index, next)),
      parse: (output, asked) => bundleAnswers(parseAnswers(simulated.dialect, output, asked), asked, next),
    },
  };
}

/** Runs a script in a subshell, so that its functions stay separate. */
export function separately(script: string): string {
  return sh`sh -eu -c ${script}`;
}

/** Shell text that fetches a transaction's packages and their dependencies with `take`, in a subshell. */
export function fetchScript(
  transaction: Transaction,
  request: (transaction: Transaction) => readonly string[],
): string {
  const { before } = transaction;
  return [
    '(',
    'brought=',
    ...(before === undefined ? [] : [before]),
    ...request({ ...transaction, remove: [] }),
    splitting,
    '# shellcheck disable=SC2086',
    'take "$@" $brought',
    ')',
  ].join('\n');
}
