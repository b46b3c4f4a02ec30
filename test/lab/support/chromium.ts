import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';

import { chromiumBase, ensureBase } from '../../../practice/lab/base-images.ts';
import { docker, dockerCommand } from '../../../practice/lab/engine.ts';
import { network } from '../../../practice/lab/paths.ts';

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

interface View {
  readonly width: number;
  readonly height: number;
  readonly scheme: 'light' | 'dark';
}

const file = '/page.html';

/** Debian's Chromium, without a window, in a container of the lab. The container has no way out of the lab. */
export class Chromium {
  readonly #container: string;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, (message: Message) => void>();
  readonly #listeners = new Set<(message: Message) => void>();
  #unread = '';
  #last = 0;

  private constructor(container: string) {
    this.#container = container;
    // Its debugging pipe reads from file descriptor 3 and writes to 4.
    const flags =
      '--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --remote-debugging-pipe about:blank';
    const command = `exec chromium ${flags} 3<&0 4>&1 >/dev/null 2>&1`;
    this.#child = spawn(...dockerCommand(['exec', '-i', container, 'sh', '-c', command]), { stdio: 'pipe' });
    this.#child.stdout.setEncoding('utf8').on('data', (chunk: string) => this.#read(chunk));
    this.#child.once('exit', (code) => {
      const error = { message: `Chromium ended with ${code}` };
      for (const answer of this.#waiting.values()) answer({ error });
    });
  }

  static async start(prefix: string): Promise<Chromium> {
    const container = `${prefix}-chromium`;
    const image = await ensureBase(chromiumBase);
    await docker(['rm', '-fv', container], { allowFailure: true });
    await docker([
      'run',
      '--detach',
      '--name',
      container,
      '--network',
      network.name,
      image,
      'sleep',
      'infinity',
    ]);
    return new Chromium(container);
  }

  /** Opens this text as a file. */
  async open(text: string, { width, height, scheme }: View): Promise<Page> {
    await docker(['exec', '-i', this.#container, 'sh', '-c', `cat > ${file}`], { input: text });
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, String(sessionId));
    this.#listeners.add((message) => page.hear(message));
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await page.send(`${domain}.enable`);
    await page.send('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: false,
    });
    await page.send('Emulation.setEmulatedMedia', {
      features: [{ name: 'prefers-color-scheme', value: scheme }],
    });
    await page.send('Page.navigate', { url: `file://${file}` });
    await page.loaded;
    return page;
  }

  async send(
    method: string,
    params: object = {},
    sessionId?: string,
  ): Promise<Readonly<Record<string, unknown>>> {
    const id = (this.#last += 1);
    const { promise, resolve } = Promise.withResolvers<Message>();
    this.#waiting.set(id, resolve);
    this.#child.stdin.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    const { result, error } = await promise;
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result ?? {};
  }

  #read(chunk: string): void {
    const messages = (this.#unread + chunk).split('\0');
    this.#unread = messages.pop() ?? '';
    for (const text of messages) {
      const message = JSON.parse(text) as Message;
      if (message.id === undefined) for (const listener of this.#listeners) listener(message);
      else {
        this.#waiting.get(message.id)?.(message);
        this.#waiting.delete(message.id);
      }
    }
  }

  async remove(): Promise<void> {
    this.#child.kill();
    await docker(['rm', '-fv', this.#container]);
  }
}

/** A page in a tab. */
class Page {
  readonly #browser: Chromium;
  readonly #session: string;
  readonly #loaded = Promise.withResolvers<void>();
  /** Errors and warnings of the console, and exceptions. */
  readonly complaints: string[] = [];
  /** What it requested, besides itself. */
  readonly requests: string[] = [];

  constructor(browser: Chromium, session: string) {
    this.#browser = browser;
    this.#session = session;
  }

  get loaded(): Promise<void> {
    return this.#loaded.promise;
  }

  send(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    return this.#browser.send(method, params, this.#session);
  }

  hear(message: Message & { readonly sessionId?: string }): void {
    const { method, params = {}, sessionId } = message;
    if (sessionId !== this.#session) return;
    if (method === 'Page.loadEventFired') this.#loaded.resolve();
    const complains = ['Runtime.exceptionThrown', 'Log.entryAdded'].includes(method ?? '');
    const isCalled = method === 'Runtime.consoleAPICalled' && params['type'] !== 'log';
    if (complains || isCalled) this.complaints.push(JSON.stringify(params));
    if (method !== 'Network.requestWillBeSent') return;
    const { url = '' } = (params['request'] ?? {}) as { readonly url?: string };
    if (url !== `file://${file}` && url !== 'about:blank' && !url.startsWith('data:'))
      this.requests.push(url);
  }

  /** Returns the value of an expression, which must be JSON. */
  async value(expression: string): Promise<unknown> {
    const answer = await this.send('Runtime.evaluate', { expression, returnByValue: true });
    if (answer['exceptionDetails'] !== undefined) throw new Error(JSON.stringify(answer['exceptionDetails']));
    return (answer['result'] as { readonly value?: unknown }).value;
  }

  /** Returns a picture of the whole page, as PNG. */
  async picture(): Promise<Buffer> {
    const { cssContentSize } = await this.send('Page.getLayoutMetrics');
    const clip = { ...(cssContentSize as { readonly width: number; readonly height: number }), x: 0, y: 0 };
    const { data } = await this.send('Page.captureScreenshot', {
      captureBeyondViewport: true,
      clip: { ...clip, scale: 1 },
    });
    return Buffer.from(String(data), 'base64');
  }

  /** Presses keys: `Escape`, `Tab`, or one character. */
  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const text = key.length === 1 ? { text: key } : {};
      const windowsVirtualKeyCode = { Escape: 27, Tab: 9 }[key] ?? key.toUpperCase().charCodeAt(0);
      await this.send('Input.dispatchKeyEvent', { type: 'keyDown', key, windowsVirtualKeyCode, ...text });
      await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key, windowsVirtualKeyCode });
    }
  }
}
