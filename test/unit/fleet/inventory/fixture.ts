import { FleetError, type Problem } from '../../../../src/shared/base/errors.ts';
import type { Fleet } from '../../../../src/fleet/inventory/fleet.ts';
import { parseFleet } from '../../../../src/fleet/inventory/load.ts';

type Env = Readonly<Record<string, string>>;

/** The two lines that every inventory needs; the text of a test begins on line 3. */
const head = 'organization: https://dev.azure.com/example\ntoken: { env: AZP_TOKEN }\n';

export function fleet(text: string, env: Env = {}): Fleet {
  return parseFleet(head + text, 'inventory.yaml', { env, cwd: '/lab', home: '/home/me' });
}

/** Returns all mistakes, each as the lines `what`, `expected: …`, `seen: …`, `next: …`. */
export function mistakes(text: string, env: Env = {}): string[] {
  return mistakesIn(head + text, env);
}

export function mistakesIn(text: string, env: Env = {}): string[] {
  try {
    parseFleet(text, 'inventory.yaml', { env, cwd: '/lab', home: '/home/me' });
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return (error.problem.details ?? [error.problem]).map(lines);
  }
  return [];
}

export function lines({ what, expected, seen, next }: Problem): string {
  const parts = { expected, seen, next };
  return [
    what,
    ...Object.entries(parts).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`])),
  ].join('\n');
}
