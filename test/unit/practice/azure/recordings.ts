import { readFileSync } from 'node:fs';

/** One exchange with the live service. Where it comes from: test/fixtures/azure/README.md. */
export interface Recording {
  readonly method: string;
  readonly url: string;
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly requestBody: unknown;
  readonly status: number;
  readonly responseHeaders: Readonly<Record<string, string>>;
  /** Text where it was not read as JSON. */
  readonly body: unknown;
}

export const recordings: readonly Recording[] = readFileSync('test/fixtures/azure/recordings.jsonl', 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Recording);
