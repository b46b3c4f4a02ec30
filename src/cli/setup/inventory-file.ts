import { existsSync, linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Document, isMap, isScalar, type Node, type Scalar, type YAMLMap } from 'yaml';

import { addHosts } from '../../fleet/inventory/document/edit.ts';
import type { SecretSource } from '../../fleet/inventory/fleet.ts';
import { FleetError, usageError } from '../../shared/base/errors.ts';
import { defined } from '../../shared/base/objects.ts';
import type { Choices, HostChoice, NetworkChoice, Wizard } from './wizard-context.ts';

/** Returns the inventory for these choices, with comments. */
export function inventoryText(choices: Choices): string {
  const document = new Document({});
  if (choices.schema !== undefined)
    document.commentBefore = ` yaml-language-server: $schema=${choices.schema}`;
  const add = (key: string, value: unknown, style: Style = {}): void => {
    const name: Scalar = document.createNode(key);
    if (style.spaced) name.spaceBefore = true;
    document.add(document.createPair(name, node(document, value, style)));
  };
  add('organization', choices.organization);
  const { credential } = choices;
  if (credential.kind === 'pat') {
    const { token, expires } = credential;
    const comment = 'the source of the token, never the token itself';
    add('token', { ...source(token), ...defined({ expires }) }, { flow: true, comment });
  } else {
    const { kind: _, proof: __, secret, ...principal } = credential;
    add('servicePrincipal', { ...principal, secret: source(secret) });
    flowInside(document.get('servicePrincipal'));
  }
  if (choices.projects.length > 0)
    add('projects', choices.projects, { flow: true, comment: 'projects whose pipelines may use the pool' });
  add('defaults', defaultsOf(choices), { spaced: true });
  add('hosts', Object.fromEntries(choices.hosts.map((host) => [host.name, hostOf(host, choices)])), {
    spaced: true,
  });
  flowInside(document.get('hosts'));
  for (const [key, value] of Object.entries(networkOf(choices.network ?? {})))
    add(key, value, { spaced: true });
  const defaults = document.get('defaults');
  if (isMap(defaults)) {
    for (const key of ['sudoPassword']) flow(defaults.get(key, true));
    flowInside(defaults.get('datasets', true));
    comment(defaults, 'agents', agentsComment(choices));
  }
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}

/** Returns an inventory with more hosts. */
export function withHosts(source: string, hosts: readonly HostChoice[]): string {
  return addHosts(source, { hosts: new Map(hosts.map((host) => [host.name, entryOf(host)])) });
}

interface Style {
  readonly flow?: boolean;
  readonly comment?: string;
  readonly spaced?: boolean;
}

function node(document: Document, value: unknown, style: Style): Node {
  const made = document.createNode(value, { flow: style.flow ?? false });
  if (style.comment !== undefined) made.comment = ` ${style.comment}`;
  return made;
}

function defaultsOf(choices: Choices): Record<string, unknown> {
  const user = shared(choices.hosts.map((host) => host.user));
  const sudo = shared(choices.hosts.map((host) => host.sudoPassword));
  return {
    ...defined({ user, identityFile: shared(choices.hosts.map((host) => host.identityFile)) }),
    ...(choices.sshConfig === undefined ? {} : { sshConfig: choices.sshConfig }),
    ...(sudo === undefined ? {} : { sudoPassword: source(sudo) }),
    pool: choices.pool,
    agents: choices.agents,
    ...(choices.share ? { share: true } : {}),
    ...(choices.datasets.length === 0 ? {} : { datasets: datasetsOf(choices) }),
  };
}

function networkOf({ proxy, noProxy, ca, mirrors }: NetworkChoice): Record<string, unknown> {
  return defined({
    proxy:
      proxy && defined({ http: proxy, https: proxy, noProxy: noProxy?.length ? [...noProxy] : undefined }),
    ca,
    mirrors: mirrors && { ...mirrors },
  });
}

function datasetsOf(choices: Choices): Record<string, unknown> {
  return Object.fromEntries(
    choices.datasets.map(({ name, host, container, requireMount }) => [
      name,
      { host, container, ...(requireMount ? { requireMount } : {}) },
    ]),
  );
}

/** Returns the settings of a host that differ from the defaults and from ssh_config. */
function hostOf(host: HostChoice, { hosts }: Choices): Record<string, unknown> {
  const { user, identityFile, sudoPassword, ...rest } = host;
  const own = {
    ...(shared(hosts.map((each) => each.user)) === undefined && user !== undefined ? { user } : {}),
    ...(shared(hosts.map((each) => each.identityFile)) === undefined && identityFile !== undefined
      ? { identityFile }
      : {}),
    ...(shared(hosts.map((each) => each.sudoPassword)) === undefined && sudoPassword !== undefined
      ? { sudoPassword }
      : {}),
  };
  return entryOf({ ...rest, ...own });
}

function entryOf(host: HostChoice): Record<string, unknown> {
  const { address, port, user, identityFile, sshConfig, gpus, sudoPassword } = host;
  return defined({
    address,
    port,
    user,
    identityFile,
    sshConfig,
    gpus,
    sudoPassword: sudoPassword && source(sudoPassword),
  });
}

/** Returns the value that all share, or undefined. */
function shared<T>(values: readonly (T | undefined)[]): T | undefined {
  const [first] = values;
  return values.every((value) => JSON.stringify(value) === JSON.stringify(first)) ? first : undefined;
}

function source(from: SecretSource): Record<string, string | true> {
  return { ...from };
}

function agentsComment({ agents, share }: Choices): string {
  if (agents === 'one-per-gpu') return 'each agent has one GPU and runs one job at a time';
  return share ? 'on each host; they share its GPUs' : 'on each host; its GPUs are divided among them';
}

function flow(value: unknown): void {
  if (isMap(value)) value.flow = true;
}

function flowInside(value: unknown): void {
  if (isMap(value)) for (const pair of value.items) flow(pair.value);
}

function comment(map: YAMLMap, key: string, text: string): void {
  const value = map.get(key, true);
  if (isScalar(value)) value.comment = ` ${text}`;
}

const name = 'inventory.schema.json';

/**
 * Returns the path of the schema for an inventory in this folder: relative if the package is installed there, otherwise
 * absolute. Undefined if this program has no schema file.
 */
export function schemaPlace(folder: string, program: string = import.meta.url): string | undefined {
  const installed = path.join('node_modules', 'azp-fleet', name);
  if (existsSync(path.join(folder, installed))) return installed;
  for (let at = path.dirname(fileURLToPath(program)); ; at = path.dirname(at)) {
    const file = path.join(at, name);
    if (existsSync(file) && existsSync(path.join(at, 'package.json'))) return file;
    if (path.dirname(at) === at) return undefined;
  }
}

/**
 * Writes a file atomically. With `replace` an existing file is kept as FILE.bak-N; otherwise it throws. Returns the path
 * of the backup.
 */
export function writeInventory(
  file: string,
  text: string,
  options: { readonly replace: boolean; readonly next?: string },
): string | undefined {
  const draft = path.join(path.dirname(file), `.${path.basename(file)}.${process.pid}.tmp`);
  try {
    writeFileSync(draft, text, { mode: 0o644, flag: 'wx' });
    const kept = options.replace ? keep(file) : undefined;
    if (options.replace) renameSync(draft, file);
    else linkSync(draft, file);
    return kept;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === undefined) throw error;
    throw usageError(
      code === 'EEXIST'
        ? {
            code: 'init.exists',
            what: `${file} already exists`,
            next: options.next ?? 'name another file with --output FILE, or edit this one',
          }
        : { code: 'init.write', what: `${file} cannot be written`, seen: code },
      error,
    );
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Links the old file to a backup name, so that the file exists at every moment. */
function keep(file: string): string | undefined {
  for (let number = 1; ; number += 1) {
    const name = `${file}.bak-${number}`;
    try {
      linkSync(file, name);
      return name;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'ENOENT') return undefined;
      if (code !== 'EEXIST') throw error;
    }
  }
}

type Decision = 'write' | 'other' | 'stop';

/** Shows the inventory and writes it to the chosen file. Returns undefined if the user declines. */
export async function askToWrite(
  wizard: Wizard,
  textFor: (file: string) => string,
  preset: string,
): Promise<string | undefined> {
  const { context, prompts, say } = wizard;
  const shown = textFor(preset).trimEnd().split('\n');
  say('', ...shown.map((line) => `  ${line}`), '');
  let file = preset;
  for (;;) {
    const full = path.resolve(context.cwd, file);
    const exists = existsSync(full);
    const decision = exists
      ? await prompts.choose<Decision>('replace', `${file} exists:`, [
          { name: 'Replace it and keep a backup', value: 'write' },
          { name: 'Write to another file', value: 'other' },
          { name: 'Write nothing', value: 'stop' },
        ])
      : await prompts.choose<Decision>(
          'write',
          `Write it to ${file}?`,
          [
            { name: 'Yes', value: 'write' },
            { name: 'To another file', value: 'other' },
            { name: 'No', value: 'stop' },
          ],
          'write',
        );
    if (decision === 'stop') return undefined;
    if (decision === 'other') {
      file = await prompts.text('file', 'File:', { default: file, check: checkFile });
      if (existsSync(path.resolve(context.cwd, file))) continue;
    }
    const kept = tryWrite(
      wizard,
      path.resolve(context.cwd, file),
      textFor(file),
      decision === 'write' && exists,
    );
    if (kept === 'failed') continue;
    say(`✔ ${file} written${kept === undefined ? '' : `; backup: ${path.basename(kept)}`}`);
    return file;
  }
}

function tryWrite(
  { say, prompts }: Wizard,
  file: string,
  text: string,
  replace: boolean,
): string | undefined {
  try {
    return writeInventory(file, text, { replace });
  } catch (error) {
    if (!(error instanceof FleetError) || !prompts.canAsk) throw error;
    say(`✗ ${error.problem.what}${error.problem.seen === undefined ? '' : `: ${error.problem.seen}`}`);
    return 'failed';
  }
}

function checkFile(text: string): string | undefined {
  return /\.ya?ml$/.test(text) ? undefined : 'A name that ends in .yaml';
}
