/** A folder of the machine that Docker runs on, for a container to read. */
export interface Mount {
  readonly source: string;
  readonly target: string;
}
