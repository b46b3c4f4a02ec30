import { usageError } from '../../base/errors.ts';
import { foreignLine } from '../../base/foreign-text.ts';

/** What ssh 9.2 refuses in a host name: a shell would read it as code, where a ProxyCommand or Match exec names the host. */
const notInHosts = /[\u0001-\u0020"$&'(),;<>\\`{|}\u007f]/;
/** The same of a user's name; a domain may stand before it (`LAB\ann`), and a blank within. */
const notInUsers = /[\u0001-\u001f"&'();<>`{|}\u007f]|\s-|\\$/;

/** Whether ssh takes it for a host's name or address. */
export function isHostName(text: string): boolean {
  return text !== '' && !text.startsWith('-') && !notInHosts.test(text);
}

/** Whether ssh takes it for the name of a user on the host. */
export function isUserName(text: string): boolean {
  return text !== '' && !text.startsWith('-') && !notInUsers.test(text);
}

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
