import { readFileSync } from 'node:fs';

import { defined } from '../../../shared/base/objects.ts';
import type { Mirrors } from '../../../fleet/inventory/fleet.ts';
import { httpUrl, registryPrefix } from '../../../fleet/inventory/schema/values.ts';
import type { NetworkChoice } from '../choices.ts';
import { typedPath, type Wizard } from '../wizard-context.ts';

const mirrorNames: Readonly<Record<keyof Mirrors, string>> = {
  nvidiaDriver: "NVIDIA's driver repository (https://developer.download.nvidia.com/compute/cuda/repos)",
  nvidiaRunfile: "NVIDIA's .run files (https://download.nvidia.com/XFree86)",
  docker: "Docker's packages (https://download.docker.com/linux)",
  toolkit: 'the container toolkit (https://nvidia.github.io/libnvidia-container)',
  epel: "EPEL, for Red Hat's systems (https://dl.fedoraproject.org/pub/epel)",
  agent: 'the Azure Pipelines agent (https://download.agent.dev.azure.com)',
  apt: "Ubuntu's and Debian's archives",
  images: 'images instead of docker.io, e.g. registry.lab.example',
  npm: 'npm packages (https://registry.npmjs.org), for this machine',
};

/** Proxy, certificate authority and mirrors, of those who have any. */
export async function askNetwork(wizard: Wizard): Promise<NetworkChoice> {
  const { prompts } = wizard;
  const keys = ['network.proxy', 'network.noProxy', 'network.ca', ...mirrorKeys()];
  const closed =
    keys.some((key) => prompts.answers(key)) ||
    (await prompts.confirm(
      'network',
      'Does it take a proxy, an own CA or mirrors to reach the internet?',
      false,
    ));
  if (!closed) return {};
  const proxy = await prompts.text('network.proxy', 'Proxy (http://HOST:PORT, Enter for none):', {
    default: '',
    check: urlMistake,
  });
  const noProxy =
    proxy === ''
      ? []
      : words(
          await prompts.text('network.noProxy', 'Reached without it (blanks between):', {
            default: 'localhost',
            list: true,
          }),
        );
  const file = (text: string): string => typedPath(wizard, text);
  const ca = await prompts.text('network.ca', 'PEM file of your certificate authority (Enter for none):', {
    default: '',
    check: (text) => (text === '' ? undefined : pemMistake(file(text))),
  });
  const mirrors = await askMirrors(prompts);
  return defined({
    proxy: proxy === '' ? undefined : proxy,
    noProxy: noProxy.length === 0 ? undefined : noProxy,
    ca: ca === '' ? undefined : file(ca),
    mirrors,
  });
}

/** A folder, and a certificate in another form than PEM, are named by mistake. */
function pemMistake(file: string): string | undefined {
  try {
    const isPem = readFileSync(file, 'utf8').includes('-----BEGIN CERTIFICATE-----');
    return isPem ? undefined : `${file} holds no certificate in PEM form`;
  } catch {
    return `${file} cannot be read`;
  }
}

function mirrorKeys(): string[] {
  return Object.keys(mirrorNames).map((name) => `network.mirrors.${name}`);
}

async function askMirrors(prompts: Wizard['prompts']): Promise<Mirrors | undefined> {
  const asked =
    mirrorKeys().some((key) => prompts.answers(key)) ||
    (await prompts.confirm('network.mirrors', 'Are there mirrors of what is installed?', false));
  if (!asked) return undefined;
  const mirrors: Record<string, string> = {};
  for (const [name, what] of Object.entries(mirrorNames)) {
    const url = await prompts.text(`network.mirrors.${name}`, `Mirror of ${what}, Enter for none:`, {
      default: '',
      check: name === 'images' ? prefixMistake : urlMistake,
    });
    if (url !== '') mirrors[name] = url;
  }
  return Object.keys(mirrors).length === 0 ? undefined : mirrors;
}

function urlMistake(text: string): string | undefined {
  return text === '' || httpUrl.safeParse(text).success
    ? undefined
    : 'http://… or https://…, without user and password';
}

function prefixMistake(text: string): string | undefined {
  return text === '' || registryPrefix.safeParse(text).success
    ? undefined
    : 'A registry, without https://, e.g. registry.lab.example:5000/mirror';
}

function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}
