import * as z from 'zod';

import { hostEntry, hostVars } from './host.ts';
import {
  httpUrl,
  managedIdentity,
  name,
  rate,
  registryLogin,
  registryName,
  registryPrefix,
  section,
  servicePrincipal,
  share,
  text,
  token,
  wholeNumber,
} from './values.ts';

const mirrors = section('mirrors by name, e.g. { docker: https://mirror.lab.example/docker/linux }', {
  nvidiaDriver: httpUrl
    .optional()
    .meta({ description: 'Instead of https://developer.download.nvidia.com/compute/cuda/repos' }),
  nvidiaRunfile: httpUrl
    .optional()
    .meta({ description: 'Instead of https://download.nvidia.com/XFree86, for driver.method: runfile' }),
  docker: httpUrl.optional().meta({ description: 'Instead of https://download.docker.com/linux' }),
  toolkit: httpUrl
    .optional()
    .meta({ description: 'Instead of https://nvidia.github.io/libnvidia-container' }),
  epel: httpUrl.optional().meta({
    description: "Instead of https://dl.fedoraproject.org/pub/epel, which has DKMS for Red Hat's systems",
  }),
  agent: httpUrl.optional().meta({ description: 'Instead of https://download.agent.dev.azure.com' }),
  apt: httpUrl.optional().meta({
    description:
      'Instead of http://archive.ubuntu.com, http://deb.debian.org and similar, while the agent image is built',
  }),
  images: registryPrefix
    .optional()
    .meta({ description: 'Registry prefix instead of docker.io, e.g. registry.lab.example' }),
  npm: httpUrl.optional().meta({
    description:
      'Instead of https://registry.npmjs.org, for the Node of the hosts: they fetch it themselves, and it is uploaded where that fails',
  }),
});

const proxy = section('proxies, e.g. { https: http://proxy.lab.example:3128 }', {
  http: httpUrl.optional().meta({ description: 'Proxy for http:// addresses' }),
  https: httpUrl.optional().meta({ description: 'Proxy for https:// addresses' }),
  noProxy: z
    .array(text, { error: 'a list of host names' })
    .optional()
    .meta({ description: 'Host names and suffixes that are reached directly' }),
});

const uploads = section('limits, e.g. { bandwidth: 50MiB/s, parallel: 10 }', {
  bandwidth: rate.optional().meta({
    description: 'For all uploads of a run together, e.g. 50MiB/s or 400Mbit/s; default: no limit',
  }),
  parallel: wholeNumber(1, 100, 'uploads at the same time')
    .optional()
    .meta({ description: 'Uploads at the same time' }),
});

const waves = section('limits, e.g. { maxUnavailable: 25%, maxFailures: 0 }', {
  maxUnavailable: share(1).optional().meta({
    description: 'Hosts of each pool that may be unavailable at a time: a number, or a percentage',
  }),
  maxFailures: share(0).optional().meta({
    description:
      'Hosts that may fail before no more are started: a number, or a percentage of the hosts to change',
  }),
});

const group = section('a group, e.g. { hosts: [h200-1], vars: { pool: gpu-lab } }', {
  vars: hostVars.optional().meta({ description: 'Settings of all its hosts; override `defaults`' }),
  hosts: z
    .array(name, { error: 'a list of host names' })
    .optional()
    .meta({ description: 'Names from `hosts`' }),
  children: z
    .array(name, { error: 'a list of group names' })
    .optional()
    .meta({ description: 'Groups whose hosts belong to this group too' }),
});

/** The one definition of inventory.yaml: types, validation, messages and the published JSON Schema. */
export const inventoryFile = section('organization, token, hosts and so on, each with its value', {
  organization: z
    .string({ error: 'the URL of your organization, e.g. https://dev.azure.com/NAME' })
    .min(1, 'the URL of your organization, e.g. https://dev.azure.com/NAME')
    .meta({
      description: 'https://dev.azure.com/NAME, or the collection URL of an Azure DevOps Server',
    }),
  token: token
    .optional()
    .meta({ description: 'Where the personal access token is found; never the token itself' }),
  servicePrincipal: servicePrincipal
    .optional()
    .meta({ description: 'A Microsoft Entra service principal instead of a token' }),
  managedIdentity: managedIdentity.optional().meta({
    description:
      'The managers log in with the identity that Azure gives to their machine; `token` is then for this machine only',
  }),
  projects: z
    .array(text, { error: 'a list of project names' })
    .optional()
    .meta({ description: 'Projects whose pipelines may use the pools' }),
  defaults: hostVars
    .optional()
    .meta({ description: 'Settings of every host unless a group or the host overrides them' }),
  groups: z
    .record(name, group, { error: 'groups by name, e.g. { hopper: { hosts: [h200-1] } }' })
    .optional()
    .meta({ description: 'Hosts with something in common' }),
  hosts: z
    .record(name, hostEntry, { error: 'hosts by name, e.g. { h200-1: {} }' })
    .meta({ description: 'The machines, by name' }),
  hostsFrom: section('where more hosts are found, e.g. { terraform: hosts.json }', {
    terraform: text.meta({
      description:
        'File that `terraform output -json` wrote; its hosts are those of the output azp_fleet_hosts',
    }),
  })
    .optional()
    .meta({
      description:
        'More hosts, from a file that another program writes; `hosts` adds settings to each by name',
    }),
  mirrors: mirrors.optional().meta({ description: "A closed network's copies of the vendors' repositories" }),
  registries: z
    .record(registryName, registryLogin, {
      error:
        'registries by host, e.g. { registry.lab.example: { user: ci, secret: { env: REGISTRY_PASSWORD } } }',
    })
    .optional()
    .meta({ description: 'Registries that need a login, by host (and port)' }),
  proxy: proxy
    .optional()
    .meta({ description: 'Proxies for the CLI, the manager, the agents, Docker and the package manager' }),
  uploads: uploads.optional().meta({ description: 'Limits for uploads from this machine to the hosts' }),
  waves: waves
    .optional()
    .meta({ description: 'How many hosts may be unavailable at a time while they are changed or rebooted' }),
  ca: text
    .optional()
    .meta({ description: 'PEM file on this machine that the CLI, the manager and the agents trust too' }),
});

export type InventoryFile = z.infer<typeof inventoryFile>;
export type Group = NonNullable<InventoryFile['groups']>[string];
