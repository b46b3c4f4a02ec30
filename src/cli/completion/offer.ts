/** One word that fits, and what it is. */
export interface Offer {
  readonly value: string;
  readonly about: string;
}
