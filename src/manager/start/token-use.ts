import type { Credential } from '../../shared/azure/http/credential.ts';
import { type Clock, timestamp } from '../../shared/base/clock.ts';
import { sha256 } from '../../shared/base/digest.ts';
import type { Secret } from '../../shared/base/secret.ts';
import type { TokenStatus } from '../../shared/contract/status.ts';
import type { Cause } from '../model.ts';

interface TokenParts {
  /** Reads the token from the first file that has one. */
  readonly read: () => Promise<Secret>;
  /** Reads only the installed file, which the CLI replaces. */
  readonly installed: () => Promise<Secret>;
  readonly machineId: string;
  readonly clock: Clock;
}

/** The token, or client secret, that the manager uses, and the one that the server accepted last. */
export class TokenUse {
  readonly #parts: TokenParts;
  #used: Secret | undefined;
  #accepted: { readonly secret: Secret; readonly status: TokenStatus } | undefined;
  #credential: Pick<Credential, 'renew'> | undefined;

  constructor(parts: TokenParts) {
    this.#parts = parts;
  }

  /** Reads the token for the next requests. */
  readonly read = async (): Promise<Secret> => (this.#used = await this.#parts.read());

  /** The server accepted a request with it. */
  readonly accepted = (secret: Secret): void => {
    if (this.#accepted?.secret.reveal() === secret.reveal()) return;
    const { machineId, clock } = this.#parts;
    const accepted = sha256(`${machineId}:${secret.reveal()}`);
    this.#accepted = { secret, status: { accepted, since: timestamp(clock) } };
  };

  get status(): TokenStatus {
    return this.#accepted?.status ?? {};
  }

  /** The token that was read last; undefined: none yet. */
  get used(): Secret | undefined {
    return this.#used;
  }

  /** Returns the credential, which `renew` makes read the token again. */
  follow(credential: Credential): Credential {
    this.#credential = credential;
    return credential;
  }

  renew(): void {
    this.#credential?.renew();
  }

  /** Returns the token on the disk; undefined: it cannot be read. `any`: also the copy that systemd loaded at the start. */
  async onDisk(any: boolean): Promise<Secret | undefined> {
    return (any ? this.#parts.read() : this.#parts.installed()).catch(() => undefined);
  }
}

interface RefusingPools {
  readonly problems: readonly Pick<Cause, 'code'>[];
  readSoon(): void;
}

/** Makes the manager use a replaced token at once, and reads the pools with it. */
export class TokenWatch {
  readonly #token: Pick<TokenUse, 'used' | 'renew' | 'onDisk'>;
  readonly #pools: RefusingPools;
  /** The token that was on the disk at the last check. */
  #known: Secret | undefined;

  constructor(token: Pick<TokenUse, 'used' | 'renew' | 'onDisk'>, pools: RefusingPools) {
    this.#token = token;
    this.#pools = pools;
  }

  /**
   * Checks for a new token. Never rejects. While the current one is accepted, only the installed file counts: systemd's copy may be
   * older than it.
   */
  async check(): Promise<void> {
    const isRefused = this.#pools.problems.some(({ code }) => code === 'azure.auth');
    const now = await this.#token.onDisk(isRefused);
    if (now === undefined) return;
    const known = this.#known ?? this.#token.used;
    this.#known = now;
    // Before the first request there is nothing to replace.
    if (known === undefined ? !isRefused : known.reveal() === now.reveal()) return;
    this.#token.renew();
    this.#pools.readSoon();
  }
}
