import type { FleetError } from '../../../shared/base/errors.ts';
import type { ConnectionOptions } from '../config/connection-options.ts';
import { authFailure, byHand, connectError, connectFailure, reviewKey } from '../failures.ts';

/** What the system's ssh said on stderr, as one of our errors. */
export function opensshFailure(options: ConnectionOptions, said: string): FleetError {
  const seen = said.trim().split('\n').slice(-6).join('\n');
  const asSocket = (code: string): FleetError =>
    connectFailure(options, Object.assign(new Error(lastLine(seen)), { code }));
  const isChanged = /host key .*has changed|REMOTE HOST IDENTIFICATION HAS CHANGED/i.test(said);
  const isRefused = /host key verification failed|no .* host key is known/i.test(said);
  if (options.pinned.length > 0 && (isChanged || isRefused)) {
    // ssh's own advice names a file of ours, which is gone by now.
    return connectError(options, {
      code: 'ssh.host-key-mismatch',
      what: `the host key of ${options.name} is not the one pinned in the inventory`,
      expected: options.pinned.join(', '),
      seen: shownKey(said) ?? lastLine(seen),
      next: `compare with the key at the machine's console, then: azp-fleet trust ${options.name}`,
    });
  }
  if (isChanged) {
    // Nothing else of what was said may end up in a command that somebody pastes.
    const remove = /^ *(ssh-keygen -f (["'])[\w@%+=:,. /-]+\2 -R (["'])[\w[\]:.-]+\3) *\r?$/m.exec(said)?.[1];
    return connectError(options, {
      code: 'ssh.host-key-mismatch',
      what: `the host key of ${options.hostname} is not the one on file: the machine was reinstalled, or another one answers in its place`,
      seen: shownKey(said) ?? lastLine(seen),
      next: `compare the fingerprint at the machine's console, then: ${remove ?? `ssh-keygen -R ${options.hostname}`}`,
    });
  }
  if (isRefused) {
    return connectError(options, {
      code: 'ssh.host-key-unknown',
      what: `ssh does not accept the host key of ${options.hostname}`,
      seen,
      next: reviewKey(options),
    });
  }
  if (/permission denied|too many authentication failures/i.test(said)) {
    return authFailure(options, { tried: [`what the system's ssh tries (${lastLine(seen)})`] });
  }
  if (/could not resolve hostname/i.test(said)) return asSocket('ENOTFOUND');
  if (/connection refused/i.test(said)) return asSocket('ECONNREFUSED');
  if (/timed out/i.test(said)) return asSocket('ETIMEDOUT');
  if (/no route to host|network is unreachable/i.test(said)) return asSocket('EHOSTUNREACH');
  if (/no matching|unable to negotiate/i.test(said)) {
    return connectError(options, {
      code: 'ssh.handshake',
      what: `no common algorithms with ${options.hostname}:${options.port}`,
      seen,
      next: `${byHand(options, '-v ')}   # shows what either side offers`,
    });
  }
  return connectFailure(options, new Error(seen || 'ssh ended without a word'));
}

function shownKey(said: string): string | undefined {
  return /SHA256:\S+/.exec(said)?.[0]?.replace(/\.$/, '');
}

function lastLine(text: string): string {
  return text.split('\n').at(-1) ?? '';
}
