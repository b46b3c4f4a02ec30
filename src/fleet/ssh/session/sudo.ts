import type { ErrorCode } from '../../../shared/base/codes/code.ts';
import { FleetError } from '../../../shared/base/errors.ts';
import type { Secret } from '../../../shared/base/secret.ts';
import type { SecretSource } from '../../inventory/fleet.ts';
import { describeSource } from '../../inventory/secret.ts';
import type { Prompter } from '../questions.ts';
import type { Elevation } from './bootstrap.ts';
import type { ConnectionOptions } from '../config/options.ts';
import { byHand } from '../failures.ts';

/** How this session becomes root, detected with the first script. */
export class Sudo {
  readonly #options: ConnectionOptions;
  readonly #source: SecretSource | undefined;
  readonly #prompter: Prompter;
  elevation: Elevation = 'unknown';

  constructor(options: ConnectionOptions, source: SecretSource | undefined, prompter: Prompter) {
    this.#options = options;
    this.#source = source;
    this.#prompter = prompter;
  }

  /** The login user. */
  get user(): string {
    return this.#options.user;
  }

  get canAnswer(): boolean {
    return !this.#isRoot && (this.#source !== undefined || this.#prompter.canAsk);
  }

  /**
   * Returns whether sudo may ask for a password in a command for this elevation: not if it runs as the login user or
   * needs no password, nor if the login user is named root (the host's own answer is no proof).
   */
  mayAsk(elevation: Elevation): boolean {
    return !this.#isRoot && (elevation === 'unknown' || elevation === 'password');
  }

  get #isRoot(): boolean {
    return this.#options.user === 'root';
  }

  /** Returns the host's secret, else the password that the user types once for the whole fleet. */
  password(): Promise<Secret | undefined> {
    if (this.#source !== undefined) return this.#prompter.resolve(this.#source);
    const { name, user } = this.#options;
    return this.#prompter.askOnce('sudo', {
      host: name,
      text: `sudo password of ${user} (asked once, used on every host that needs one):`,
      hidden: true,
    });
  }

  /**
   * Returns the error for a prompt with our marker that is not from sudo: a host can read the marker in the command.
   */
  notRun(): FleetError {
    return this.#error(
      'ssh.sudo-not-run',
      'the host asks for the sudo password, but sudo is not running; none was sent',
      'no prompt: the command runs as the login user, or sudo needs no password',
      `find the cause of the prompt before you use this host again: ${byHand(this.#options)} id   # is it the machine that you mean?`,
    );
  }

  passwordNeeded(): FleetError {
    if (this.#isRoot) return this.notRun();
    return this.#error(
      'ssh.sudo-password-needed',
      `sudo needs a password for ${this.#options.user}`,
      'a password, or NOPASSWD in sudoers',
      'run this at a terminal to be asked, or set "sudoPassword: { env: NAME }" (or file:, cmd:) for the host in the inventory',
    );
  }

  wrongPassword(): FleetError {
    return this.#error(
      'ssh.sudo-wrong-password',
      `sudo refused the password of ${this.#options.user}`,
      'the sudo password of this user on this host',
      `${this.#where()}; try it by hand: ${byHand(this.#options, '-t ')} sudo -k -v`,
    );
  }

  #where(): string {
    const source = this.#source;
    if (source === undefined || 'prompt' in source) return 'run it again, and type the password of this host';
    return `correct the password in ${describeSource(source)}`;
  }

  /** Returns the error for a failed sudo, by its message. */
  failure(said: string): FleetError | undefined {
    const { user } = this.#options;
    if (/must have a tty/.test(said)) {
      return this.#error(
        'ssh.sudo-tty',
        'sudo requires a terminal (requiretty)',
        'sudo that works without a terminal',
        `echo 'Defaults:${user} !requiretty' | sudo tee /etc/sudoers.d/azp-fleet   # on the host`,
        said,
      );
    }
    if (/not in the sudoers file|is not allowed to (?:run|execute)|may not run sudo/.test(said)) {
      return this.#error(
        'ssh.not-in-sudoers',
        `${user} may not use sudo for /bin/sh`,
        'a user with full sudo rights',
        `usermod -aG sudo ${user}   # as root on the host ("wheel" instead of "sudo" on Red Hat and relatives)`,
        said,
      );
    }
    if (/incorrect password attempt|Sorry, try again|no password was provided/.test(said))
      return this.wrongPassword();
    if (/a password is required/.test(said)) return this.passwordNeeded();
    return undefined;
  }

  missing(): FleetError {
    return this.#error(
      'ssh.no-sudo',
      `${this.#options.user} is not root and the host has no sudo`,
      'root, or sudo',
      'log in as root ("user: root" in the inventory), or install sudo on the host',
    );
  }

  #error(code: ErrorCode, what: string, expected: string, next: string, seen?: string): FleetError {
    return new FleetError({
      code,
      host: this.#options.name,
      step: 'sudo',
      what,
      expected,
      ...(seen === undefined ? {} : { seen: lastLine(seen) }),
      next,
    });
  }
}

function lastLine(text: string): string {
  return (text.trim().split('\n').at(-1) ?? '').replace(/^@[0-9a-f]+ password:/, '');
}
