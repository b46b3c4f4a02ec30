import { sha256 } from '../../../src/shared/base/digest.ts';
import type { Drain, DrainOrder, UndrainOrder } from '../../../src/shared/contract/drain.ts';
import { HostPaths, unitMarkVariable } from '../../../src/shared/contract/paths.ts';
import type { ManagerStatus } from '../../../src/shared/contract/status.ts';
import { framesSaid } from '../hostile-host.ts';
import { managerStatus } from '../manager-status.ts';
import type { Behind, Running } from './server.ts';

/** A request that changes a host. */
export interface Effect {
  readonly host: string;
  /** `lock`, `upload PATH`, `change ID`, `script`, `drain`, `undrain`. */
  readonly what: string;
}

/**
 * When the client is cut off: before an effect, or after it and before the answer. `during`: a change goes on without its client
 * until a later run follows it; another effect is complete.
 */
export type Cut = 'before' | 'during' | 'after' | undefined;

/** The owner id of all agents of the fleet. */
export const owner = 'scripted';

interface File {
  readonly sha256: string;
  readonly text: string;
}

/** A change as the host keeps it. */
interface StartedChange {
  readonly id: string;
  readonly title: string;
  readonly owner: string;
  readonly script: string;
}

/** Larger files, the manager's program and its Node, count as sent by an earlier run. */
export const largest = 64 * 1024;

/**
 * A host that is a model: a script changes the model as it would change a machine, and the facts are read from it. It runs Amazon
 * Linux with the distribution's Docker Engine, without GPUs. An unknown script fails, and its text is kept.
 */
export class ScriptedHost implements Behind {
  readonly name: string;
  readonly machineId: string;
  readonly pool: string;
  readonly unknown: string[] = [];
  /** Called for each effect. */
  onEffect: (effect: Effect) => Cut = () => undefined;
  /** Changes whose id begins with it fail. */
  fails: string | undefined;
  daemonJson: string | undefined;
  drains: Drain[] = [];
  readonly #files = new Map<string, File>();
  #current: string | undefined;
  #started: { readonly configHash: string; readonly program: string; readonly unit: string } | undefined;
  #holder: Running | undefined;
  /** Goes on without its client. */
  #change: StartedChange | undefined;

  constructor(name: string, index: number, pool: string) {
    this.name = name;
    this.machineId = sha256(`machine ${index}`).slice(0, 32);
    this.pool = pool;
  }

  get isLocked(): boolean {
    return this.#holder !== undefined;
  }

  /** All that a run leaves on the host, without times and ids of runs. */
  get state(): unknown {
    const files = [...this.#files].map(([path, file]) => `${file.sha256} ${path}`).toSorted();
    const drains = this.drains.map(({ reason }) => reason);
    return { files, daemonJson: this.daemonJson, current: this.#current, started: this.#started, drains };
  }

  /** Its disk is empty again. */
  reinstall(): void {
    this.#files.clear();
    [this.daemonJson, this.#current, this.#started] = [undefined, undefined, undefined];
    this.drains = [];
  }

  run(script: Running): void {
    const { text } = script;
    if (text.includes("printf 'frames %s")) {
      script.out(framesSaid(text, this.#facts()).stdout);
      return script.end();
    }
    if (text.startsWith(`for folder in ${HostPaths.changes}/`)) {
      script.out(`${this.#changesFacts()}\nend\n`);
      return script.end();
    }
    const [, path = '', digest = ''] = /^p=(\S+) h=([0-9a-f]{64}) t=/m.exec(text) ?? [];
    if (path !== '') return this.#receive(script, path, digest);
    if (/^d=\/run\/azp-fleet s=\S+ mine=/m.test(text)) return this.#lock(script);
    const [, change = ''] = /^d=\/var\/lib\/azp-fleet\/changes\/(\S+) u=/m.exec(text) ?? [];
    if (change !== '') return this.#runChange(script, change);
    const [, run] = / undrain --run (\S+) /.exec(text) ?? [];
    if (run !== undefined) return this.#effect(script, 'script', () => this.#undrain(run));
    // Folders, which the model has none of.
    if (/^set -eu\numask 022(?:; |\n)mkdir -p /.test(text))
      return this.#effect(script, 'script', () => undefined);
    this.#refuse(text);
    script.err('the model does not know this script\n');
    script.end(1);
  }

  /** Fails the test that reads `unknown`. */
  #refuse(what: string): 1 {
    this.unknown.push(what);
    return 1;
  }

  ask({ line, body }: { readonly line: string; readonly body: string }): string | undefined {
    const order = (body === '' ? {} : JSON.parse(body)) as Partial<DrainOrder & UndrainOrder>;
    if (line === 'POST /v1/drain' || line === 'POST /v1/undrain') {
      const what = line.slice('POST /v1/'.length);
      const cut = this.onEffect({ host: this.name, what });
      if (cut === 'before') return undefined;
      if (what === 'drain') this.#drain(order);
      else this.#undrain(order.run);
      if (cut !== undefined) return undefined;
    } else if (line !== 'GET /v1/status') this.#refuse(line);
    return JSON.stringify(this.#status());
  }

  /** A run's drain replaces that of another run. */
  #drain({ reason = '', owner: by = '', run = '', command = '' }: Partial<DrainOrder>): void {
    const at = new Date().toISOString();
    const people = this.drains.filter((drain) => drain.run === undefined);
    this.drains = [...people, { reason, at, owner: by, run, command }];
  }

  #undrain(run: string | undefined): void {
    this.drains = this.drains.filter((drain) => drain.run !== run);
  }

  #effect(script: Running, what: string, apply: () => void, answer: () => void = () => script.end()): void {
    const cut = this.onEffect({ host: this.name, what });
    if (cut === 'before') return;
    apply();
    if (cut === undefined) answer();
  }

  #receive(script: Running, path: string, digest: string): void {
    const size = Number(/ -eq (\d+) \]/.exec(script.text)?.[1] ?? 0);
    if (this.#files.get(path)?.sha256 === digest || size > largest) {
      script.out('same\n');
      return script.end();
    }
    script.out('have 0\n');
    script.whenFed((input) => {
      // Cut: the rest of an upload that continues another time.
      if (input === undefined || sha256(input) !== digest) return;
      const put = () => void this.#files.set(path, { sha256: digest, text: input.toString() });
      this.#effect(script, `upload ${path}`, put, () => {
        script.out('done\n');
        script.end();
      });
    });
  }

  #lock(script: Running): void {
    if (this.#holder !== undefined) {
      script.out('held 0 {"who":"ann@laptop","command":"another run","since":"now"}\n');
      return script.end(75);
    }
    // sshd ends the script of a client that has gone.
    const take = () => (this.#holder = script);
    script.whenFed((input) => {
      if (this.#holder === script) this.#holder = undefined;
      if (input !== undefined) script.end();
    });
    this.#effect(script, 'lock', take, () => script.out('locked\n'));
  }

  #runChange(script: Running, id: string): void {
    const { text } = script;
    const left = this.#change;
    if (left?.id === id) {
      this.#change = undefined;
      const code = this.#carryOut(left);
      return endOfChange(script, `following 0123 ${left.owner}`, code);
    }
    if (!text.includes('systemd-run')) {
      script.err('none\n');
      return script.end();
    }
    const cut = this.onEffect({ host: this.name, what: `change ${id}` });
    if (cut === 'before') return;
    const change = { id, title: fileIn(text, 'title'), owner: fileIn(text, 'owner'), script: text };
    if (cut === 'during') this.#change = change;
    else {
      const code = this.#carryOut(change);
      if (cut === undefined) endOfChange(script, 'started 0123', code);
    }
  }

  /** Returns the exit code. */
  #carryOut({ id, script }: StartedChange): number {
    if (this.fails !== undefined && id.startsWith(this.fails)) return 1;
    if (id.startsWith('docker-configure-')) return this.#configure(script);
    return id.startsWith('manager-start-') ? this.#activate(script) : this.#refuse(script);
  }

  #configure(text: string): number {
    const [found] = /\{\n {4}"[^]*?\n\}\n/.exec(text) ?? [];
    if (found === undefined) return this.#refuse(text);
    this.daemonJson = found;
    return 0;
  }

  #activate(text: string): number {
    const file = (path: string) => this.#files.get(path);
    const next = file(`${HostPaths.token}.next`);
    if (next !== undefined) this.#files.set(HostPaths.token, next);
    this.#files.delete(`${HostPaths.token}.next`);
    this.#current = /\/opt\/azp-fleet\/versions\/[0-9a-f]{12}/.exec(text)?.[0] ?? '';
    this.#started = {
      configHash: file(HostPaths.config)?.sha256 ?? '',
      program: this.#current,
      unit: new RegExp(`${unitMarkVariable}=(\\S+)`).exec(file(HostPaths.unit)?.text ?? '')?.[1] ?? '',
    };
    return 0;
  }

  #status(): ManagerStatus {
    const { configHash = '', ...started } = this.#started ?? { program: '' };
    const at = new Date().toISOString();
    const isDrained = this.drains.length > 0;
    const run = { id: 'r1', startedAt: '2026-11-21T00:00:00Z', settings: 'now' };
    return managerStatus({
      at,
      host: this.name,
      owner,
      configHash,
      started,
      pool: { name: this.pool },
      drained: isDrained,
      drains: this.drains,
      slots: [
        {
          slot: '1',
          agent: `${this.name}-1`,
          pool: this.pool,
          state: isDrained ? 'drained' : 'idle',
          gpus: [],
          since: '2026-11-21T00:00:00Z',
          settings: 'now',
          jobsRun: 1,
          ...(isDrained ? {} : { container: '0123456789ab', run }),
        },
      ],
      health: { state: 'healthy', checkedAt: at, gpus: [], findings: [] },
    });
  }

  #facts(): Readonly<Record<string, string>> {
    const shown = [...this.#files].filter(([path]) =>
      [HostPaths.config, HostPaths.unit].some((each) => each === path),
    );
    const digests = shown.map(([path, file]) => `${file.sha256}  ${path}\n`);
    const lines = shown.flatMap(([path, { text }]) =>
      text
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => `${path}:${line}\n`),
    );
    return {
      os: 'ID="amzn"\nVERSION_ID="2023"\nPRETTY_NAME="Amazon Linux 2023"\n',
      machine: `kernel 6.1.0\narch x86_64\nmachine-id ${this.machineId}\nboot-id ${this.machineId}\ntime ${Math.floor(Date.now() / 1000)}\nsystemd systemd 252\nuser lab\nuid 1000\nmemory 263000000\ncpus 64\n`,
      docker: 'active\nenabled\n',
      'docker-info': JSON.stringify({
        ServerVersion: '25.0.8',
        CgroupDriver: 'systemd',
        Runtimes: { runc: {} },
        LiveRestoreEnabled: this.daemonJson?.includes('"live-restore": true') === true,
      }),
      'docker-containers': '[]\n',
      'docker-images': '[]\n',
      'packages-dnf': 'docker 0 25.0.8 1.amzn2023 x86_64\nca-certificates 0 2025.2.76 1.amzn2023 noarch\n',
      disk: 'path /\nFilesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 900000000 400000000 500000000 45% /\n',
      files: [...digests, ...lines].join(''),
      changes: this.#changesFacts(),
      'daemon-json': this.daemonJson === undefined ? '' : `present\n${this.daemonJson}`,
      manager: this.#managerFacts(),
      'manager-status': this.#started === undefined ? '' : `present\n${JSON.stringify(this.#status())}`,
    };
  }

  #changesFacts(): string {
    if (this.#change === undefined) return '';
    const { id, title, owner } = this.#change;
    return `state ${id} running\ntitle ${title}\nowner ${owner}\n`;
  }

  #managerFacts(): string {
    const token = this.#files.get(HostPaths.token)?.text.trim();
    const context = `${this.#current}/dockeragent/`;
    const built = [...this.#files].filter(
      ([path]) => this.#current !== undefined && path.startsWith(context),
    );
    return [
      ...(this.#current === undefined ? [] : [`current ${this.#current}`]),
      ...(this.#started === undefined ? [] : ['ActiveState=active', 'UnitFileState=enabled']),
      ...(token === undefined ? [] : [`credential ${sha256(`${this.machineId}:${token}`)}  -`]),
      ...(built.length === 0 ? [] : ['context']),
      ...built.map(([path, file]) => `${file.sha256}  ./${path.slice(context.length)}`),
      ...(this.#files.has(`${HostPaths.token}.next`) ? [`left ${HostPaths.token}.next`] : []),
      '',
    ].join('\n');
  }
}

/** Returns what the script of a change writes into a file of one line. */
function fileIn(script: string, name: string): string {
  const [, text = ''] = new RegExp(`printf '%s\\\\n' (.+) >"\\$d/${name}"`).exec(script) ?? [];
  return text.replaceAll("'", '');
}

function endOfChange(script: Running, how: string, code: number): void {
  script.err(`${how}\n`);
  if (code !== 0) script.out('the disk is full\n');
  script.err(`end ${code}\n`);
  script.end();
}
