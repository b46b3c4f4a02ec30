import { defined } from '../base/defined.ts';
import { Secret } from '../base/secret.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { fold } from '../render/lines/fold.ts';
import { createProgress } from '../render/progress.ts';
import { questionText } from '../ssh/question-text.ts';
import { columns } from '../render/table.ts';
import type { HostChoice } from './choices.ts';
import { decide, editHost } from './decide-hosts.ts';
import { testHost, type HostReport } from './test-host.ts';
import { tell, widthOf, type Wizard } from './wizard-context.ts';

type Tested = Pick<HostSpec, 'name' | 'ssh'>;

/** How a host would be reached with this choice; differs when it joins an inventory that has defaults. */
export type Describe = (host: HostChoice) => Tested;

/**
 * Tests hosts live and asks what to do about those that fail, until each is well, kept anyway or left out.
 * Returns those that stay, with their GPUs counted. `inventory`: the hosts beside which they will stand.
 */
export async function checkHosts(
  wizard: Wizard,
  hosts: readonly HostChoice[],
  describe: Describe,
  inventory: readonly HostSpec[],
): Promise<HostChoice[]> {
  const settled = new Map<string, HostChoice>();
  let open = [...hosts];
  let interactive = false;
  while (open.length > 0) {
    const reports = await testAll(wizard, { hosts: open, describe, inventory }, interactive);
    for (const notice of wizard.notices()) tell(wizard, notice);
    wizard.say(...readyLines([...reports.values()], widthOf(wizard)));
    const failed: HostChoice[] = [];
    for (const host of open) {
      const report = reports.get(host.name);
      const counted = report?.gpus === undefined ? host : { ...host, gpus: report.gpus };
      if (report?.problem) failed.push(counted);
      else settled.set(host.name, counted);
    }
    open = [];
    interactive = false;
    if (failed.length === 0) break;
    for (const [host, decision] of await decide(wizard, failed, reports)) {
      if (decision === 'keep') settled.set(host.name, host);
      if (decision === 'retry' || decision === 'ask') open.push(host);
      if (decision === 'ask') interactive = true;
      if (decision === 'edit') open.push(await editHost(wizard, host));
    }
  }
  return hosts.flatMap(({ name }) => settled.get(name) ?? []);
}

interface Round {
  readonly hosts: readonly HostChoice[];
  readonly describe: Describe;
  readonly inventory: readonly HostSpec[];
}

/** Questions in the middle of parallel tests are hard to read: `interactive` only where they were asked for. */
async function testAll(
  wizard: Wizard,
  { hosts, describe, inventory }: Round,
  interactive: boolean,
): Promise<Map<string, HostReport>> {
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
    const reports = await Promise.all(
      hosts.map((host) =>
        testHost(transport, describe(host), context, (state, text) =>
          progress.sink({ kind: 'host-state', host: host.name, state, ...defined({ text }) }),
        ),
      ),
    );
    return new Map(reports.map((report) => [report.name, report]));
  } finally {
    await progress.finish();
    await transport.close();
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

async function askHidden({ context, prompts }: Wizard, text: string): Promise<Secret> {
  const secret = new Secret(await prompts.hidden(text));
  context.log.redact(secret);
  return secret;
}
