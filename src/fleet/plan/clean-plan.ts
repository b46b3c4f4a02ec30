import { foreignLine, foreignLines, foreignValue } from '../../shared/base/foreign-text.ts';
import type { Description } from '../steps/change.ts';
import type { FleetPlan } from './fleet-plan.ts';

/** Of a script that is shown whole; ours are far below. */
const longestScript = 1_000_000;
/** What has several lines in a plan: the text of a script, and of a file. */
const scripts = new Set(['script', 'text']);

/** A plan fit to be shown: a saved one is a file that anybody can have written. */
export function cleanPlan(plan: FleetPlan): FleetPlan {
  const clean = foreignValue(plan, (text, key) =>
    scripts.has(key) ? foreignLines(text, longestScript) : foreignLine(text),
  );
  return {
    ...clean,
    hosts: clean.hosts.map((host) => ({
      ...host,
      stages: host.stages.map((stage) => stage.map((change) => ({ ...change, ...inLines(change) }))),
    })),
  };
}

/** A detail's text is one line, unlike a file's. */
function inLines({ details }: Description): Pick<Description, 'details'> {
  if (details === undefined) return {};
  return { details: details.map(({ text, ...rest }) => ({ ...rest, text: foreignLine(text) })) };
}
