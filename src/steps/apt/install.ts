import { Raw, sh } from '../../base/shell.ts';
import type { Proxy } from '../../inventory/fleet.ts';
import { aptPrelude } from './prelude.ts';
import { proxyExports } from './proxy.ts';

/** What one apt transaction brings and takes away. */
export interface AptInstall {
  /** The source file that offers them. */
  readonly source: string;
  /** `version`: a prefix such as `5:29.7.2-`; the newest offered version that begins with it is taken. Without: the newest. */
  readonly packages: readonly { readonly name: string; readonly version?: string }[];
  /** All packages take the version that was chosen for the first one. */
  readonly sameVersion?: boolean;
  /** Patterns of packages that are held together with the first one, where they have its version. */
  readonly siblings?: readonly string[];
  /** Installed packages that conflict; removed in the same transaction, so that nothing is lost when it cannot be done. */
  readonly remove: readonly string[];
  /** Packages that the first one's version brings along where some source offers them at it. */
  readonly optional?: readonly string[];
  readonly proxy: Proxy;
  /** Shell text between the update and the transaction. */
  readonly before?: string;
  /** Shell text after the versions have been confirmed and held. */
  readonly after?: string;
}

/** Unhold, install exactly, confirm, hold. Holds come back whatever happens in between. */
export function installScript({
  source,
  packages,
  sameVersion = false,
  siblings = [],
  remove,
  optional = [],
  proxy,
  before,
  after,
}: AptInstall): string {
  const names = packages.map(({ name }) => name);
  const exact = packages.filter(({ version }) => version !== undefined);
  const related = siblings.length === 0 ? '' : sh`$(siblings ${[names[0] ?? '', ...siblings]})`;
  return [
    ...proxyExports(proxy),
    aptPrelude,
    '# Package names hold no blanks, and are meant to be split.',
    '# shellcheck disable=SC2046',
    sh`hold_all() { hold ${names} ${new Raw(related)}; }`,
    sh`update ${source}`,
    'trap hold_all EXIT',
    '# shellcheck disable=SC2046',
    sh`apt-mark unhold ${[...names, ...remove]} ${new Raw(related)} >/dev/null 2>&1 || :`,
    ...(before === undefined ? [] : [before]),
    'set --',
    ...packages.map(({ name, version }, index) => {
      if (version === undefined) return sh`set -- "$@" ${name}`;
      const choice = sameVersion && index > 0 ? '' : sh`choose ${name} ${version}; `;
      return `${choice}${sh`set -- "$@" ${name}="$version"`}`;
    }),
    ...optional.map(
      (name) => sh`if offered ${name} | grep -qxF "$version"; then set -- "$@" ${name}="$version"; fi`,
    ),
    sh`apt install --allow-downgrades "$@" ${remove.map((name) => `${name}-`)}`.trimEnd(),
    ...exact.map(({ name, version }) => sh`confirm ${name} ${version ?? ''}`),
    'hold_all',
    'trap - EXIT',
    ...(after === undefined ? [] : [after]),
  ].join('\n');
}
