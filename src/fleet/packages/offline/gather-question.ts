import type { Site } from '../site.ts';
import type { System } from '../system.ts';
import type { Transaction } from '../transaction.ts';

/** What is fetched for hosts of one system that will reach no source. */
export interface GatherQuestion {
  readonly transactions: readonly Transaction[];
  readonly system: System;
  readonly site: Site & { readonly caPem?: string };
}
