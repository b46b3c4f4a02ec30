import {
  bringFunctions,
  consequenceFilters,
  dnfPrelude,
  performFunction,
} from '../../../../src/fleet/packages/dnf/prelude.ts';
import { sourceFunctions } from '../../../../src/fleet/packages/dnf/source.ts';
import { unforeseenNames } from '../../../../src/fleet/packages/shell.ts';
import type { Parts } from './exact-scripts.ts';

/** Text that scripts for dnf share. */
export const dnfParts: Parts = [
  [dnfPrelude, '# … what all scripts for dnf begin with'],
  [consequenceFilters, '# … how what dnf says is read'],
  [sourceFunctions, '# … bring_key, put_source'],
  [bringFunctions, '# … bring, more_packages'],
  [performFunction, '# … perform'],
  [unforeseenNames, '# … unforeseen PATTERN…'],
];
