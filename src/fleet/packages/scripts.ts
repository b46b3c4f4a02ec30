import { sh } from '../../shared/base/shell.ts';
import type { Transaction } from './transaction.ts';

/** One script after the other, each with functions of its own. */
export function byItself(script: string): string {
  return sh`sh -eu -c ${script}`;
}

/**
 * Shell text in which `take` fetches what a transaction would install, and what that brings along, in a shell of its own.
 * `request`: lines that make them the arguments.
 */
export function fetched(transaction: Transaction, request: (wish: Transaction) => readonly string[]): string {
  const { before } = transaction;
  return [
    '(',
    'brought=',
    ...(before === undefined ? [] : [before]),
    ...request({ ...transaction, remove: [] }),
    '# Package names hold no blanks, and are meant to be split.',
    '# shellcheck disable=SC2086',
    'take "$@" $brought',
    ')',
  ].join('\n');
}
