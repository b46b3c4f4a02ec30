import { Document, isMap, isScalar, type Node, type Scalar, type YAMLMap } from 'yaml';

import { defined } from '../../../shared/base/objects.ts';
import { addHosts } from '../../../fleet/inventory/document/add-hosts.ts';
import type { SecretSource } from '../../../fleet/inventory/fleet.ts';
import type { Choices, HostChoice, NetworkChoice } from '../choices.ts';

/** The inventory for these choices, with a comment where a reader would ask. */
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
    const comment = 'where it is found, never the token';
    add('token', { ...source(token), ...defined({ expires }) }, { flow: true, comment });
  } else {
    const { kind: _, secret, ...principal } = credential;
    add('servicePrincipal', { ...principal, secret: source(secret) });
    flowInside(document.get('servicePrincipal'));
  }
  if (choices.projects.length > 0)
    add('projects', choices.projects, { flow: true, comment: 'whose pipelines may use the pool' });
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

/** An inventory with more hosts in it. */
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

/** Only what differs from the defaults and from what ssh_config says. */
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

/** The one value that all have, or undefined. */
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
