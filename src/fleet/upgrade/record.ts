import { randomUUID } from 'node:crypto';
import { chmodSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import * as z from 'zod';

import { sha256 } from '../../shared/base/digest.ts';
import { FleetError, type Problem, whyNot } from '../../shared/base/errors.ts';
import { foreignJson } from '../../shared/base/foreign-text.ts';
import { replaceStateFile } from '../../shared/base/state-file.ts';

/** An upgrade that has not ended, on the admin's machine: with it the next run has the text from before a cut. */
interface UpgradeRecord {
  readonly schema: 1;
  /** Absolute path of the inventory. */
  readonly inventory: string;
  /** The part and the version, as typed: `driver 580`. */
  readonly goal: string;
  /** The text before the upgrade. */
  readonly before: string;
  /** sha256 of the text that the upgrade writes. */
  readonly after: string;
}

const text = z.string();
const shape = z.object({
  schema: z.literal(1),
  inventory: text,
  goal: text,
  before: text,
  after: text,
});

/** Returns `~/.local/state/azp-fleet/upgrades/DIGEST.json`, one per inventory file. */
function recordFile(stateDirectory: string, inventory: string): string {
  return join(stateDirectory, 'upgrades', `${sha256(inventory).slice(0, 16)}.json`);
}

/** Reads the record of a run that was cut; undefined: it is missing or invalid. */
function readRecord(file: string): UpgradeRecord | undefined {
  try {
    return shape.safeParse(foreignJson(readFileSync(file, 'utf8'))).data;
  } catch {
    return undefined;
  }
}

function writeRecord(file: string, record: UpgradeRecord): void {
  try {
    replaceStateFile(file, `${JSON.stringify(record)}\n`);
  } catch (error) {
    throw notWritten('upgrade.record', file, error);
  }
}

/** The texts of an inventory in one upgrade. */
interface Texts {
  /** Absolute path. */
  readonly file: string;
  /** As it is now. */
  readonly text: string;
  /** With the new versions. */
  readonly edited: string;
  /** Part, version and hosts: another upgrade does not continue this one. */
  readonly goal: string;
}

/** The inventory of an upgrade: its text is replaced once the first hosts work, and comes back if the run does not succeed. */
export class InventoryOfUpgrade {
  readonly #texts: Texts;
  readonly #record: string;
  /** The text before this upgrade, or before the run of it that was cut. */
  readonly #before: string;
  #isEdited: boolean;
  /** The record is of this upgrade. */
  #isRecorded: boolean;

  constructor(stateDirectory: string, texts: Texts) {
    this.#texts = texts;
    this.#record = recordFile(stateDirectory, texts.file);
    const cut = readRecord(this.#record);
    const continues = cut?.goal === texts.goal && cut.after === sha256(texts.text);
    this.#before = continues ? cut.before : texts.text;
    this.#isEdited = continues;
    this.#isRecorded = continues;
  }

  /** True if the inventory has had another text than before the upgrade. */
  get wasWritten(): boolean {
    return this.#isEdited;
  }

  /** Writes the new text, after a record with the earlier one. Returns why it could not be written. */
  write(): Problem | undefined {
    const { file, text, edited, goal } = this.#texts;
    if (text === edited) return undefined;
    return problemOf(() => {
      writeRecord(this.#record, {
        schema: 1,
        inventory: file,
        goal,
        before: this.#before,
        after: sha256(edited),
      });
      this.#isRecorded = true;
      replaceInventory(file, { from: text, to: edited });
      this.#isEdited = true;
    });
  }

  /** Ends the upgrade: with the new text, or with the earlier one. Returns why the inventory has neither. */
  end(isDone: boolean): Problem | undefined {
    const { file, edited } = this.#texts;
    let problem: Problem | undefined;
    if (isDone && !this.#isEdited) problem = this.write();
    if (!isDone && this.#isEdited)
      problem = problemOf(() => replaceInventory(file, { from: edited, to: this.#before }));
    if (problem === undefined && this.#isRecorded) rmSync(this.#record, { force: true });
    return problem;
  }
}

function problemOf(work: () => void): Problem | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return error.problem;
  }
}

/** Replaces the text of the inventory at once, and keeps its mode. Throws where it has another text than expected. */
function replaceInventory(file: string, { from, to }: { readonly from: string; readonly to: string }): void {
  let draft: string | undefined;
  try {
    const real = realpathSync(file);
    if (readFileSync(real, 'utf8') !== from) throw edited(file);
    draft = join(dirname(real), `.${basename(real)}.${randomUUID()}.tmp`);
    writeFileSync(draft, to, { flag: 'wx' });
    chmodSync(draft, statSync(real).mode & 0o777);
    renameSync(draft, real);
  } catch (error) {
    throw error instanceof FleetError ? error : notWritten('upgrade.inventory', file, error);
  } finally {
    if (draft !== undefined) rmSync(draft, { force: true });
  }
}

function edited(file: string): FleetError {
  return new FleetError({
    code: 'upgrade.inventory-changed',
    what: `${file} was edited during the upgrade`,
    expected: 'the text that this run read',
    seen: 'another text, which stays',
    next: 'run the same command again: it reads the new text',
  });
}

function notWritten(code: 'upgrade.record' | 'upgrade.inventory', file: string, error: unknown): FleetError {
  return new FleetError(
    {
      code,
      what: `${file} cannot be written`,
      seen: whyNot(error),
      next: 'correct its permissions or free disk space, then run the same command again',
    },
    { cause: error },
  );
}
