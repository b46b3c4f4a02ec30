import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';

import { fakeControl, type FakeControl } from '../../../practice/azure/control/control.ts';
import { startFake, type RunningFake } from '../../../practice/azure/start.ts';
import { systemClock } from '../../../src/shared/base/clock.ts';
import { runCommand } from '../command.ts';
import { leftOnScreen } from '../screen.ts';
import { sshKeyPair } from '../ssh-key.ts';
import { LabHost } from './lab-host.ts';

/** Returns the final screen of a terminal of 80 columns. */
export interface Screen {
  readonly text: string;
  readonly exitCode: number;
}

/** The user's answers at the terminal: a part of the question, and the typed text. */
type Answer = readonly [question: string, typed: string];

export const token = 'a-token-of-the-lab';

/** A correct lab at its first hour: a laptop with an inventory, one reachable machine, an organization. */
export class World {
  /** The laptop's home folder, in which commands run. */
  readonly folder = mkdtempSync('/tmp/hour-');
  readonly host = new LabHost();
  readonly env: Record<string, string> = {};
  /** The next command, without `azp-fleet`. */
  typed = '';
  /** Without answers stdin is not a terminal. */
  answers: readonly Answer[] = [];
  /** The typed passphrase of a key. */
  passphrase = '';
  /** The token that the server accepts. */
  readonly tokenFile = `${this.folder}-tokens`;
  /** Fixes that a person can make later, by name. */
  readonly notes = new Map<string, () => unknown>();
  readonly #ends: (() => unknown)[] = [];
  #azure: RunningFake | undefined;

  static async start(): Promise<World> {
    const world = new World();
    await world.host.start();
    writeFileSync(world.tokenFile, `${token}\n`);
    world.#azure = await startFake({
      host: '127.0.0.1',
      port: 0,
      tokenFile: world.tokenFile,
      organization: 'lab',
      projects: ['vision', 'speech'],
      clock: systemClock(1),
    });
    const key = sshKeyPair();
    mkdirSync(world.path('.ssh'), { mode: 0o700 });
    world.write('.ssh/id_ed25519', key.private, 0o600);
    world.write('.ssh/id_ed25519.pub', `${key.public.trim()} ann@laptop\n`);
    world.host.authorize(key.public);
    world.write('token', `${token}\n`, 0o600);
    world.write('inventory.yaml', world.#inventory());
    return world;
  }

  get azure(): RunningFake {
    if (this.#azure === undefined) throw new Error('not started yet');
    return this.#azure;
  }

  get control(): FakeControl {
    return fakeControl(this.azure.origin);
  }

  /** Adds a machine that accepts the same key. */
  async another(): Promise<LabHost> {
    const host = new LabHost();
    await host.start();
    host.authorize(this.read('.ssh/id_ed25519.pub').trim());
    this.onEnd(() => host.end());
    return host;
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  read(name: string): string {
    return readFileSync(this.path(name), 'utf8');
  }

  write(name: string, text: string, mode = 0o644): void {
    writeFileSync(this.path(name), text);
    chmodSync(this.path(name), mode);
  }

  /** Replaces text in a file; the text must be there. */
  edit(from: string, to: string, file = 'inventory.yaml'): void {
    const text = this.read(file);
    if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
    this.write(file, text.replace(from, to));
  }

  onEnd(what: () => unknown): void {
    this.#ends.push(what);
  }

  /** Runs `azp-fleet` with these arguments at a terminal of 80 columns. */
  async type(line: string, said: readonly Answer[] = this.answers): Promise<Screen> {
    const answers = [...said];
    const stdin = Object.assign(new PassThrough(), answers.length === 0 ? {} : { isTTY: true });
    let asked = '';
    const { both, exitCode } = await runCommand(wordsOf(line), {
      cwd: this.folder,
      env: { PATH: process.env['PATH'] ?? '', ...this.env },
      terminal: { columns: 80, rows: 24 },
      stdin: stdin as never,
      heard: (text) => {
        asked += text;
        const [question, typed] = answers[0] ?? [];
        if (question === undefined || !asked.includes(question)) return;
        asked = '';
        answers.shift();
        setTimeout(() => stdin.write(`${typed}\r`), 10);
      },
    });
    return { text: leftOnScreen(both).join('\n').trimEnd(), exitCode };
  }

  /** Runs a command in a shell on the laptop. `azp-fleet` in it is `type`. */
  shell(command: string): Promise<{ readonly code: number; readonly text: string }> {
    mkdirSync(this.path('bin'), { recursive: true });
    const known = `-o UserKnownHostsFile=${this.path('.ssh/known_hosts')} -o StrictHostKeyChecking=accept-new`;
    const key = `-o IdentityFile=${this.path('.ssh/id_ed25519')} -o IdentityAgent=none`;
    this.write('bin/ssh', `#!/bin/sh\nexec /usr/bin/ssh -F none ${known} ${key} "$@"\n`, 0o755);
    this.write(
      'bin/askpass',
      `#!/bin/sh\ncase $1 in *assphrase*) echo '${this.passphrase}' ;; *) echo '${this.host.settings.loginPassword ?? ''}' ;; esac\n`,
      0o755,
    );
    const { PATH = '' } = process.env;
    const env = {
      ...this.env,
      HOME: this.folder,
      PATH: `${this.path('bin')}:${PATH}`,
      SSH_ASKPASS: this.path('bin/askpass'),
      SSH_ASKPASS_REQUIRE: 'force',
    };
    return new Promise((resolve) => {
      const child = spawn('/bin/bash', ['-c', command], { cwd: this.folder, env });
      child.stdin.on('error', () => undefined);
      child.stdin.end(command.includes('cat >') ? `${token}\n` : '');
      let text = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (data: Buffer) => (text += data.toString()));
      child.once('close', (code) => resolve({ code: code ?? 255, text }));
    });
  }

  /** Replaces what differs between runs by text of the same width, so that lines wrap alike. */
  shown(text: string): string {
    return (
      text
        // Ephemeral ports: no other number is as large.
        .replaceAll(/(?<!\d)(?:3[2-9]|[45]\d|60)\d{3}(?!\d)/g, '22222')
        .replaceAll(/(?<=AAAAC3NzaC1lZDI1NTE5AAAAI)[\w+/]{43}/g, '0'.repeat(43))
        .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, '2026-11-21 12:00 UTC')
        .replaceAll(/SHA256:[\w+/]{43}/g, `SHA256:${'0'.repeat(43)}`)
        .replaceAll(/(?<=\.bak-)\d+/g, '1')
        // Where there is no name server.
        .replaceAll('getaddrinfo EAI_AGAIN', 'getaddrinfo ENOTFOUND')
        .replaceAll(this.folder, '/home/ann.keller')
    );
  }

  async end(): Promise<void> {
    for (const end of this.#ends) await end();
    await this.host.end();
    await this.azure.close();
    rmSync(this.folder, { recursive: true, force: true });
    rmSync(this.tokenFile, { force: true });
  }

  #inventory(): string {
    return `organization: ${this.azure.organization}
token: { file: token, expires: 2027-06-01 }
projects: [vision]

defaults:
  user: ann
  pool: gpu-lab
  identityFile: ~/.ssh/id_ed25519
  sshConfig: none

groups:
  hopper: { hosts: [h200-1] }

hosts:
  h200-1:
    address: 127.0.0.1
    port: ${this.host.port}
    gpus: 2
  rtx-7:
    address: 192.0.2.7
    agents: 1
`;
  }
}

/** The words of a command line; quotes keep blanks. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  );
}
