import { defined } from '../../../shared/base/objects.ts';
import { fold } from '../../render/lines/fold.ts';
import { createProgress } from '../../render/progress.ts';
import { columns } from '../../render/table.ts';
import { questionText } from '../../../fleet/ssh/questions.ts';
import type { HostChoice } from '../choices.ts';
import { tell, widthOf, type Wizard } from '../wizard-context.ts';
import { askHidden } from '../secrets/ask-hidden.ts';
import { decide } from './decide-hosts.ts';
import type { Among } from './describe-host.ts';
import { testHost, type HostReport } from './test-host.ts';

/** A host that stays, and what is known of it; without a report of its facts where it is kept untested. */
export interface Settled {
  readonly host: HostChoice;
  readonly report: HostReport;
}

/**
 * Tests hosts live and asks what to do about those that fail, until each is well, kept anyway or left out.
 * Returns those that stay in their order, with their GPUs counted.
 */
export async function checkHosts(
  wizard: Wizard,
  hosts: readonly HostChoice[],
  among: Among,
): Promise<Settled[]> {
  const settled = new Map<number, Settled>();
  let open = hosts.map((host, place) => ({ host, place }));
  let interactive = false;
  for (let round = 1; open.length > 0; round += 1) {
    const tested = open.map(({ host }) => host);
    const reports = await wizard.prompts.once(`test ${round} ${JSON.stringify(tested)}`, () =>
      testAll(wizard, tested, among, interactive),
    );
    wizard.say(...readyLines(reports, widthOf(wizard)));
    const looked = open.map(({ host, place }, index) => {
      const report = reports[index] ?? { name: host.name };
      return { place, report, host: report.gpus === undefined ? host : { ...host, gpus: report.gpus } };
    });
    for (const { place, host, report } of looked) if (!report.problem) settled.set(place, { host, report });
    const failed = looked.filter(({ report }) => report.problem !== undefined);
    if (failed.length === 0) break;
    const decided = await decide(wizard, failed, among);
    interactive = decided.some(({ decision }) => decision === 'ask');
    open = [];
    for (const { host, decision, of } of decided) {
      const place = failed[of]?.place ?? 0;
      const report = failed[of]?.report ?? { name: host.name };
      if (decision === 'keep') settled.set(place, { host, report });
      else if (decision !== 'drop') open.push({ host, place });
    }
  }
  return [...settled].toSorted(([one], [other]) => one - other).map(([, each]) => each);
}

/** Questions in the middle of parallel tests are hard to read: `interactive` only where they were asked for. */
async function testAll(
  wizard: Wizard,
  hosts: readonly HostChoice[],
  { describe, inventory }: Among,
  interactive: boolean,
): Promise<HostReport[]> {
  const { context } = wizard;
  const progress = createProgress(context, { hosts: hosts.map(({ name }) => name), json: false });
  const transport = wizard.openTransport(
    interactive
      ? (question) =>
          progress.aside(() => askHidden(wizard, questionText(question, context.stdout.columns ?? 80)))
      : undefined,
    inventory,
  );
  try {
    return await Promise.all(
      hosts.map((host) =>
        testHost(
          transport,
          () => describe(host),
          host.name,
          context,
          (state, text) =>
            progress.sink({ kind: 'host-state', host: host.name, state, ...defined({ text }) }),
        ),
      ),
    );
  } finally {
    await progress.finish();
    await transport.close();
    for (const notice of wizard.notices().toSorted()) tell(wizard, notice);
  }
}

/** As many as fit on a screen one by one; more are counted. */
const shownOneByOne = 12;

function readyLines(reports: readonly HostReport[], width: number): string[] {
  const ready = reports.filter(({ problem }) => problem === undefined);
  if (ready.length <= shownOneByOne)
    return columns(
      ready.map(({ name, summary = '' }) => [`✔ ${name}`, summary]),
      Infinity,
    ).map((line) => fold(line, width));
  const gpus = ready.reduce((sum, report) => sum + (report.gpus ?? 0), 0);
  return [`✔ ${ready.length} hosts are ready, with ${gpus} GPUs`];
}
