import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

export interface TerminalOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** For a program that hangs: less than a test's own limit, so that the failure shows the screen. */
const longestMs = 1_500_000;

/** A program on a real pseudo-terminal of tmux: we type and read the screen. */
export class Terminal {
  readonly #server: string;

  /** `command` is shell text. At its end the screen shows `[exit N]`. */
  constructor(command: string, { columns = 80, rows = 24, cwd, env = {} }: TerminalOptions) {
    this.#server = `azp-fleet-test-${process.pid}-${Date.now()}`;
    // The shell outlives a Ctrl-C to say how the program took it.
    const shell = `trap : INT\n${command}\nprintf '\\n[exit %s]\\n' "$?"\nexec cat`;
    const variables = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
    const size = ['-x', String(columns), '-y', String(rows)];
    this.#tmux('-f', '/dev/null', 'new-session', '-d', ...size, '-c', cwd, ...variables, 'sh', '-c', shell);
  }

  /** Names of keys (`Enter`, `Down`, `C-c`) or text. */
  press(...keys: readonly string[]): void {
    for (const key of keys) this.#tmux('send-keys', '-t', '0', key);
  }

  type(text: string): void {
    this.#tmux('send-keys', '-t', '0', '-l', text);
  }

  /** Changes the size of the window. */
  resize(columns: number, rows: number): void {
    this.#tmux('resize-window', '-t', '0', '-x', String(columns), '-y', String(rows));
  }

  /** Returns the visible screen. */
  screen(): string {
    return this.#tmux('capture-pane', '-p', '-t', '0').trimEnd();
  }

  /** Returns everything printed, including scrolled lines; `styled`: with SGR colours. */
  history(styled?: 'styled'): string {
    return this.#tmux(
      'capture-pane',
      '-p',
      '-S',
      '-',
      ...(styled === undefined ? [] : ['-e']),
      '-t',
      '0',
    ).trimEnd();
  }

  /** Returns whether the cursor is visible, and whether a program has the alternate screen. */
  modes(): { readonly cursor: boolean; readonly alternate: boolean } {
    const [cursor, alternate] = this.#tmux('display', '-p', '-t', '0', '#{cursor_flag} #{alternate_on}')
      .trim()
      .split(' ');
    return { cursor: cursor === '1', alternate: alternate === '1' };
  }

  /** Resolves with the screen as soon as it shows this. */
  see(what: string | RegExp): Promise<string> {
    return this.#until(what, () => this.screen());
  }

  /** Answers a question: waits for it, types, and waits until it is accepted. */
  async answer(question: string, ...keys: readonly string[]): Promise<void> {
    await this.see(`? ${question}`);
    this.press(...keys);
    // The next output may push it off the screen at once.
    await this.#until(`✔ ${question}`, () => this.history());
  }

  async #until(what: string | RegExp, read: () => string): Promise<string> {
    const deadline = Date.now() + longestMs;
    for (;;) {
      const text = read();
      if (typeof what === 'string' ? text.includes(what) : what.test(text)) return text;
      const late = Date.now() > deadline ? `within ${longestMs} ms` : 'before the end';
      if (Date.now() > deadline || text.includes('[exit '))
        throw new Error(`${String(what)} did not appear ${late}:\n${text}`);
      await sleep(50);
    }
  }

  close(): void {
    this.#tmux('kill-server');
  }

  #tmux(...args: readonly string[]): string {
    return execFileSync('tmux', ['-L', this.#server, ...args], { encoding: 'utf8' });
  }
}
