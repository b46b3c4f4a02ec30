// npm run soak -- --model [--steps N] [--seed N] [--path P]: the shipped manager in worlds without a machine, where time is
// simulated and any call may fail.
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { histories, newTally, tryOut } from '../../../test/support/model/trial.ts';

const { values } = parseArgs({
  options: {
    model: { type: 'boolean' },
    steps: { type: 'string', default: '200000' },
    seed: { type: 'string' },
    path: { type: 'string' },
  },
});

/** Worlds between two checks of the step count. */
const batch = 20;
const longest = 40;

const first = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
const minimumSteps = Number(values.steps);
const tally = newTally();
const began = performance.now();
for (let seed = first; tally.steps < minimumSteps; seed += 1) {
  const result = await fc.check(
    fc.asyncProperty(histories(longest), (history) => tryOut(history, tally)),
    { seed, numRuns: batch, ...(values.path === undefined ? {} : { path: values.path }) },
  );
  if (result.failed) {
    const { counterexample, errorInstance } = result;
    const [history] = counterexample ?? [];
    process.stdout.write(`${history?.steps.map(String).join('\n')}\n${String(errorInstance)}\n`);
    process.stdout.write(`${JSON.stringify(history?.config.agents)} ${history?.config.agentName}\n`);
    process.stdout.write(
      `again: npm run soak -- --model --seed ${result.seed} --path ${result.counterexamplePath}\n`,
    );
    process.exitCode = 1;
    break;
  }
  if (values.path !== undefined) break;
}
const hours = (tally.ms / 3_600_000).toFixed(1);
const seconds = ((performance.now() - began) / 1000).toFixed(0);
process.stdout.write(
  `${tally.steps} steps in ${tally.worlds} worlds, ${tally.kills} kills, ${tally.removals} slow removals, ${tally.pauses} pauses, ${tally.deletions} deleted state files, ${tally.requestedPauses} answers with Retry-After, ${tally.passes} checks, ${hours} simulated hours in ${seconds} s; seed ${first}\n` +
    `every slot served again within ${tally.mostPasses} checks and ${(tally.mostMs / 60_000).toFixed(0)} of their minutes\n`,
);
