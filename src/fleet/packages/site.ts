import type { Mirrors, Proxy } from '../inventory/fleet.ts';

/** What one site has of its own. */
export interface Site {
  readonly mirrors: Mirrors;
  readonly proxy: Proxy;
}
