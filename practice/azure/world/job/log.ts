import type { FakeLog, FakeRequest } from '../state.ts';

/** Longest text that is kept of one log, in characters; of a longer one the end is kept. */
const maxLog = 64 * 1024;

/** Appends one upload of an agent. */
export function appendLog(request: FakeRequest, log: FakeLog, text: string): void {
  const [, lines = ''] = /^\uFEFF?(.*)$/su.exec(text) ?? [];
  log.lineCount += lines.split('\n').length - (lines.endsWith('\n') ? 1 : 0);
  log.text = (log.text + lines).slice(-maxLog);
  // The job's own log repeats the lines of its steps and the console, and comes last.
  if (!isOf(log, request.jobId)) return;
  request.feed.lines = [];
  for (const each of request.logs)
    if (!isOf(each, request.jobId) && !isOf(each, request.stepId)) each.text = '';
}

/** Adds lines of the console. `startLine` is the number of the first one within its step, if the agent reports it. */
export function appendFeed(
  request: FakeRequest,
  step: string,
  lines: readonly string[],
  startLine: number | undefined,
): void {
  const { feed } = request;
  const seen = feed.seen[step] ?? 0;
  // A log has no more lines than characters: a line with a larger number would drop all that follow.
  const first = Math.min(Math.trunc(startLine ?? seen + 1), seen + maxLog);
  const fresh = lines.slice(Math.max(0, seen + 1 - first));
  feed.seen[step] = Math.max(seen, first + lines.length - 1);
  feed.lines.push(...fresh.map((text) => ({ step, text: text.slice(0, maxLog) })));
  let size = feed.lines.reduce((sum, { text }) => sum + text.length + 1, 0);
  while (size > maxLog) size -= (feed.lines.shift()?.text.length ?? 0) + 1;
}

/** Returns the whole job in the order of writing, each line once, without timestamps. */
export function readableLog(request: FakeRequest): string {
  const own = request.logs.filter((log) => isOf(log, request.jobId));
  if (own.length > 0) return withoutTimes(own.map(({ text }) => text).join(''));
  if (request.feed.lines.length > 0) return request.feed.lines.map(({ text }) => `${text}\n`).join('');
  return withoutTimes(request.logs.map(({ text }) => text).join(''));
}

/** Returns the output of the job's script, without the agent's lines around it. */
export function scriptLog(request: FakeRequest): string {
  const own = request.logs.filter((log) => isOf(log, request.stepId));
  if (own.length > 0) return inner(withoutTimes(own.map(({ text }) => text).join('')));
  const shown = request.feed.lines.filter(({ step }) => step === request.stepId);
  if (shown.length > 0) return inner(shown.map(({ text }) => `${text}\n`).join(''));
  const nameless = request.logs.filter(({ path }) => path === '');
  return withoutTimes(nameless.map(({ text }) => text).join(''));
}

function isOf(log: FakeLog, recordId: string): boolean {
  return log.path.toLowerCase().endsWith(recordId.toLowerCase());
}

/** `2026-11-21T20:58:20.5855947Z text`: each line of an uploaded log. */
function withoutTimes(text: string): string {
  return text.replaceAll(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z /gmu, '');
}

/** Returns a step's log without the agent's lines: `##[section]Starting`, the task's header, `##[section]Finishing`. */
function inner(text: string): string {
  return text
    .replace(/^##\[section\]Starting: .*\n/u, '')
    .replace(/^={60,}\n(?:[^=].*\n)*={60,}\n/u, '')
    .replace(/##\[section\]Finishing: .*\n?$/u, '');
}
