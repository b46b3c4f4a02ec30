import { readFileSync } from 'node:fs';

/** One line of test/fixtures/agent/wire-5.278.jsonl: a request of the real agent, or what was done to it. */
export interface Recorded {
  readonly scenario: string;
  readonly event?: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** A number, or `client closed`. */
  readonly status: number | string;
}

const lines = readFileSync('test/fixtures/agent/wire-5.278.jsonl', 'utf8').trim().split('\n');
const all = lines.map((line) => JSON.parse(line) as Recorded);

export function scenario(name: string): readonly Recorded[] {
  return all.filter((each) => each.scenario === name);
}

/** Below the organisation. */
export function pathOf({ url }: Recorded): string {
  return url.slice('/lab'.length);
}
