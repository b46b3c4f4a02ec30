import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A token that the stand-in lists. */
interface AzToken {
  readonly displayName: string;
  readonly validTo: string;
  readonly scope: string;
}

/** What the stand-in does; each is what az does for one cause. */
export interface AzBehavior {
  /** False: `az login` was not run. */
  readonly isLoggedIn?: boolean;
  readonly tokens?: readonly AzToken[];
  /** Tokens on one page of the list. Default: all. */
  readonly pageSize?: number;
  /** The secret of a token that is created. */
  readonly secret?: string;
  /** `patTokenError` of a request to create one. */
  readonly patTokenError?: string;
  /** An HTTP error for this method: az prints `ERROR: REASON(BODY)`. */
  readonly httpError?: { readonly method: 'get' | 'post'; readonly reason: string; readonly body: string };
  /** An error that az itself prints. */
  readonly ownError?: string;
  /** Printed instead of JSON. */
  readonly page?: string;
  /** An answer instead of the documented one. */
  readonly answer?: unknown;
  /** Creates the token, and is then killed before it prints it. */
  readonly isKilled?: boolean;
}

/** A program `az` that knows `az rest` only and is as strict: options, body files, exit codes and texts as azure-cli 2.8x has them. */
export class AzStandIn {
  readonly bin: string;
  readonly #log: string;
  readonly #behavior: string;

  constructor(folder: string) {
    this.bin = join(folder, 'az-bin');
    this.#log = join(folder, 'az-calls.jsonl');
    this.#behavior = join(folder, 'az-behavior.json');
    mkdirSync(this.bin);
    writeFileSync(join(this.bin, 'az'), program(this.#log, this.#behavior));
    chmodSync(join(this.bin, 'az'), 0o755);
    this.behave({});
  }

  behave(behavior: AzBehavior): void {
    writeFileSync(this.#behavior, JSON.stringify(behavior));
  }

  /** Every start: its arguments, the body file that it got, and its environment. */
  calls(): readonly {
    readonly argv: readonly string[];
    readonly body: Readonly<Record<string, unknown>> | null;
    readonly mode: number | null;
    readonly env: Readonly<Record<string, string>>;
  }[] {
    if (!existsSync(this.#log)) return [];
    const lines = readFileSync(this.#log, 'utf8').trim().split('\n');
    return lines.map((line) => JSON.parse(line) as ReturnType<AzStandIn['calls']>[number]);
  }
}

function program(log: string, behavior: string): string {
  return `#!${process.execPath}
const { appendFileSync, readFileSync, statSync, writeFileSync } = require('node:fs');
const argv = process.argv.slice(2);
const behavior = JSON.parse(readFileSync(${JSON.stringify(behavior)}, 'utf8'));
const end = (code, text) => { process.stderr.write(text + '\\n'); process.exit(code); };
const known = ['--method', '--url', '--resource', '--headers', '--body', '--output'];
const given = {};
for (let at = 1; at < argv.length; at += 1) {
  if (argv[at] === '--only-show-errors') continue;
  if (!known.includes(argv[at]) || argv[at + 1] === undefined) end(2, 'ERROR: unrecognized arguments: ' + argv[at]);
  given[argv[at]] = argv[at + 1];
  at += 1;
}
if (argv[0] !== 'rest') end(2, "ERROR: '" + argv[0] + "' is misspelled or not recognized by the system.");
let body = null;
let mode = null;
if (given['--body'] !== undefined) {
  const file = given['--body'].replace(/^@/, '');
  mode = statSync(file).mode & 0o777;
  body = JSON.parse(readFileSync(file, 'utf8'));
}
appendFileSync(${JSON.stringify(log)}, JSON.stringify({ argv, body, mode, env: process.env }) + '\\n');
if (behavior.ownError !== undefined) end(1, 'ERROR: ' + behavior.ownError);
if (behavior.isLoggedIn === false) end(1, "ERROR: Please run 'az login' to setup account.");
if (given['--resource'] !== '499b84ac-1321-427f-aa17-267ca6975798') end(1, 'ERROR: Unauthorized');
const url = new URL(given['--url']);
if (url.searchParams.get('api-version') !== '7.1-preview.1') end(1, 'ERROR: Bad Request({"message":"No api-version was supplied"})');
const failure = behavior.httpError;
if (failure?.method === given['--method']) end(1, 'ERROR: ' + failure.reason + '(' + failure.body + ')');
const print = (value) => { process.stdout.write(JSON.stringify(value, null, 2) + '\\n'); process.exit(0); };
if (behavior.page !== undefined) { process.stdout.write(behavior.page); process.exit(0); }
if (behavior.answer !== undefined) print(behavior.answer);
const tokens = behavior.tokens ?? [];
if (given['--method'] === 'get') {
  const start = Number(url.searchParams.get('continuationToken') ?? 0);
  const stop = start + (behavior.pageSize ?? tokens.length);
  const patTokens = tokens.slice(start, stop).map((token) => ({ ...token, authorizationId: 'guid', token: null }));
  print({ continuationToken: stop < tokens.length ? String(stop) : '', patTokens });
}
if (behavior.patTokenError !== undefined) print({ patToken: null, patTokenError: behavior.patTokenError });
if (given['--headers'] !== 'Content-Type=application/json') end(1, 'ERROR: Unsupported Media Type');
for (const name of ['displayName', 'scope', 'validTo']) if (typeof body?.[name] !== 'string') end(1, 'ERROR: Bad Request');
const created = { displayName: body.displayName, validTo: body.validTo, scope: body.scope };
writeFileSync(${JSON.stringify(behavior)}, JSON.stringify({ ...behavior, tokens: [...tokens, created] }));
if (behavior.isKilled === true) process.kill(process.pid, 'SIGKILL');
else print({ patToken: { ...created, authorizationId: 'guid', token: behavior.secret }, patTokenError: 'none' });
`;
}
