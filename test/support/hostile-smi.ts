import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SmiRun } from '../../src/shared/health/smi-run.ts';

/** A document of `nvidia-smi -q -x`, taken apart. */
export interface SmiDocument {
  readonly head: string;
  /** By PCI address as the report has it; the text before and after the processes. */
  readonly gpus: readonly { readonly address: string; readonly before: string; readonly after: string }[];
  readonly tail: string;
}

/** Takes apart what a machine without hostile processes printed. */
export function takeApart(document: string): SmiDocument {
  const [head = '', ...parts] = document.split(/(?=<gpu id=)/);
  const end = parts.at(-1)?.indexOf('</gpu>') ?? 0;
  const tail = parts.at(-1)?.slice(end + '</gpu>'.length) ?? '';
  const gpus = parts.map((part) => {
    const [, domain = '', address = ''] = /id="0000([\da-fA-F]{4}):([^"]+)"/.exec(part) ?? [];
    const section = part.slice(0, part.indexOf('</gpu>') + '</gpu>'.length);
    const at = section.indexOf('<processes>');
    const end = section.indexOf('</processes>');
    return {
      address: `${domain}:${address}`.toLowerCase(),
      // A shortened document may lack them.
      before: at === -1 ? `${section.slice(0, -'</gpu>'.length)}<processes>` : section.slice(0, at + 11),
      after: end === -1 ? '</processes></gpu>' : section.slice(end),
    };
  });
  return { head, gpus, tail };
}

/** The same with processes of these names on its GPUs, as the real nvidia-smi prints them: unescaped. `only`: one GPU. */
export function withProcesses(
  { head, gpus, tail }: SmiDocument,
  names: (address: string) => readonly string[],
  only?: string,
): string {
  const shown = gpus.filter(({ address }) => only === undefined || address === only);
  const sections = shown.map(({ address, before, after }) => {
    const processes = names(address).map(
      (name) =>
        `<process_info><pid>1</pid><type>C</type><process_name>${name}</process_name><used_memory>1 MiB</used_memory></process_info>\n`,
    );
    return `${before}\n${processes.join('')}${after}\n`;
  });
  return `${head}${sections.join('')}${tail}`;
}

/** An nvidia-smi that prints given texts and ends with given codes, for the scripts that check GPUs. */
export class PrintedSmi {
  readonly #folder = mkdtempSync(join(tmpdir(), 'smi-'));

  constructor() {
    const program = `#!/bin/sh
cd ${this.#folder} || exit 1
case "$*" in
  '-q -x') cat all; exit "$(cat all.code)" ;;
  '-q -x -i '*) cat "$4"; exit "$(cat "$4.code")" ;;
esac
`;
    writeFileSync(join(this.#folder, 'nvidia-smi'), program, { mode: 0o755 });
  }

  /** `about`: a PCI address, or `all`. */
  prints(about: string, output: string, code = 0): void {
    writeFileSync(join(this.#folder, about), output, 'latin1');
    writeFileSync(join(this.#folder, `${about}.code`), String(code));
  }

  run(script: string): SmiRun {
    const { status, stdout, stderr } = spawnSync('sh', ['-c', script], {
      env: { PATH: `${this.#folder}:/usr/bin:/bin`, LC_ALL: 'C.UTF-8' },
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    });
    return { code: status ?? -1, output: stdout + stderr, timedOut: false };
  }

  close(): void {
    rmSync(this.#folder, { recursive: true });
  }
}
