import { usageError } from '../../../shared/base/errors.ts';
import { foreignLine } from '../../../shared/base/foreign-text.ts';
import { isHostName, isUserName } from '../../../shared/base/notation/hop.ts';

/** Throws when the name could be something else than a name. `host`: the inventory's name of the host that it is for. */
export function checkHostName(text: string, host: string): void {
  if (!isHostName(text)) throw refused(text, 'the name of a host', host);
}

/** Throws when the name could be something else than a name. */
export function checkUserName(text: string, host: string): void {
  if (!isUserName(text)) throw refused(text, 'the name of a user', host);
}

function refused(text: string, what: string, host: string): Error {
  return usageError({
    code: 'ssh.config',
    host,
    step: 'connect',
    what: `${JSON.stringify(foreignLine(text, 80))} is not ${what}`,
    expected: 'a name as ssh takes it: no blanks, quotes or signs that a shell obeys, no - at its beginning',
    next: 'correct the name in the inventory or in the SSH configuration',
  });
}
