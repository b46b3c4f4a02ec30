/** One package of an index, as the package manager knows it. */
export interface ListedPackage {
  readonly name: string;
  /** With its epoch, where it has one. */
  readonly version: string;
  readonly architecture: string;
  /** Below `pool`. */
  readonly file: string;
  readonly sha256: string;
}
