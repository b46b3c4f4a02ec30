/** Something that keeps a machine on. */
export interface Use {
  /** One thing has the same key at each look. */
  readonly key: string;
  /**
   * `visit`: a login, which for its first minute is somebody who looks (`azp-fleet status` is one): it does not count as
   * use yet, though no machine ends under it.
   */
  readonly kind: 'use' | 'visit';
  /** `lab is logged in since 2026-11-22 13:05 UTC` */
  readonly what: string;
  readonly next: string;
}
