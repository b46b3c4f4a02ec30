// Capabilities that the agent reports: its environment, installed programs, its version.
import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { root, version } from './settings.mjs';

export const machineName = () => process.env.HOSTNAME ?? hostname();

/** Longest value that is published. */
const maxValue = 1024;
const tools = ['curl', 'docker', 'git', 'node', 'python3', 'sh'];

export function systemCapabilities(name) {
  return {
    ...environment(),
    ...ownFile(),
    ...Object.fromEntries(tools.flatMap((tool) => found(tool))),
    'Agent.Name': name,
    'Agent.OS': 'Linux',
    'Agent.OSArchitecture': process.arch === 'arm64' ? 'ARM64' : 'X64',
    InteractiveSession: 'True',
    'Agent.Version': version(),
    'Agent.ComputerName': machineName(),
    'Agent.HomeDirectory': root,
  };
}

function environment() {
  const ignored = new Set((process.env.VSO_AGENT_IGNORE ?? '').split(',').map((each) => each.trim()));
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([key, value]) => !ignored.has(key) && !key.startsWith('VSTS_AGENT_INPUT_') && value.length < maxValue,
    ),
  );
}

function ownFile() {
  if (!existsSync(join(root, '.capabilities'))) return {};
  const lines = readFileSync(join(root, '.capabilities'), 'utf8').split('\n');
  return Object.fromEntries(
    lines.flatMap((each) => (each.includes('=') ? [each.split(/=(.*)/su).slice(0, 2)] : [])),
  );
}

function found(tool) {
  const folders = (process.env.PATH ?? '').split(':');
  const path = folders.map((folder) => join(folder, tool)).find((each) => existsSync(each));
  return path === undefined ? [] : [[tool, path]];
}
