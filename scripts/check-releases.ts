// Lists what has ended, or has a newer release than src/shared/base/support-dates.ts: `node scripts/check-releases.ts`. For
// maintainers, before a release. Reads the vendors' public lists; exits 1 if something is to be changed or could not be read.
import { compareVersions } from '../src/shared/image/choose.ts';
import { digests } from '../src/fleet/steps/driver/runfile-releases.ts';
import { type Part, releaseLines, supportOf } from '../src/shared/base/support-dates.ts';

/** A public list of releases, and how to read versions from it. */
interface Source {
  readonly part: Part;
  readonly address: string;
  readonly versions: (text: string) => readonly string[];
}

type ReadText = (address: string) => Promise<string>;

/** NVIDIA's file for programs: `{ "580": { "driver_info": [{ "release_version": "580.95.05", … }] } }`. */
function driverVersions(text: string): readonly string[] {
  const branches = JSON.parse(text) as Record<string, { driver_info?: { release_version?: unknown }[] }>;
  return Object.values(branches).flatMap(({ driver_info: releases = [] }) =>
    releases.map(({ release_version: version }) => String(version)),
  );
}

/** Versions of a package in a list of apt, without epoch and packaging suffix. */
const aptVersions = (name: string) => (text: string) =>
  text.split(/\n\n+/).flatMap((entry) => {
    const fields = new Map(entry.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
    const version = fields.get('Package') === name ? fields.get('Version') : undefined;
    return version === undefined ? [] : [version.replace(/^\d+:/, '').replace(/[-~].*/, '')];
  });

const hubTags = (text: string) =>
  (JSON.parse(text) as { results: { name: string }[] }).results.flatMap(
    ({ name }) => /^(\d+\.\d+\.\d+)-base-/.exec(name)?.[1] ?? [],
  );

const gitTags = (text: string) =>
  (JSON.parse(text) as { name: string }[]).flatMap(({ name }) => /^v(\d+\.\d+\.\d+)$/.exec(name)?.[1] ?? []);

export const sources: readonly Source[] = [
  {
    part: 'driver',
    address: 'https://docs.nvidia.com/datacenter/tesla/drivers/releases.json',
    versions: driverVersions,
  },
  {
    part: 'cuda',
    address: 'https://hub.docker.com/v2/repositories/nvidia/cuda/tags?page_size=100&name=-base-ubuntu24.04',
    versions: hubTags,
  },
  {
    part: 'docker',
    address: 'https://download.docker.com/linux/debian/dists/bookworm/stable/binary-amd64/Packages',
    versions: aptVersions('docker-ce'),
  },
  {
    part: 'toolkit',
    address: 'https://nvidia.github.io/libnvidia-container/stable/deb/amd64/Packages',
    versions: aptVersions('nvidia-container-toolkit'),
  },
  {
    part: 'agent',
    address: 'https://api.github.com/repos/microsoft/azure-pipelines-agent/tags?per_page=100',
    versions: gitTags,
  },
];

/** Returns one sentence for each line that has ended or has a newer release, for each unknown line, and for each unread source. */
export async function checkReleases(read: ReadText, now: number): Promise<readonly string[]> {
  const found = await Promise.all(sources.map((source) => newerOf(source, read)));
  return [...endings(now), ...found.flat()];
}

function endings(now: number): readonly string[] {
  return releaseLines.flatMap(({ part, line, ends, isDefault, successor }) => {
    const { state } = supportOf(part, line, now);
    if (ends === 'past' || (state !== 'ended' && state !== 'ending')) return [];
    const what = `${part} ${line}${isDefault === true ? ' (default)' : ''}`;
    return [
      `${what}: support ${state === 'ended' ? 'ended' : 'ends'} ${ends}; successor: ${successor ?? 'none'}`,
    ];
  });
}

async function newerOf({ part, address, versions }: Source, read: ReadText): Promise<readonly string[]> {
  let seen: readonly string[];
  try {
    seen = versions(await read(address)).filter((version) => /^\d+(?:\.\d+)+$/.test(version));
  } catch (error) {
    return [`${part}: ${address} cannot be read: ${String(error)}`];
  }
  if (seen.length === 0) return [`${part}: ${address} lists no version`];
  const newest = new Map<string, string>();
  for (const version of seen) {
    const line = lineIn(part, version);
    if (compareVersions(version, newest.get(line) ?? '0') > 0) newest.set(line, version);
  }
  const known = knownVersions(part);
  return [...newest].flatMap(([line, version]) => {
    const ours = known.get(line);
    if (ours !== undefined)
      return compareVersions(version, ours) > 0 ? [`${part} ${line}: ${version} is out, not ${ours}`] : [];
    const isNewer = [...known.keys()].every((each) => compareVersions(line, each) > 0);
    return isNewer ? [`${part} ${line}: a line that the table does not have: ${version}`] : [];
  });
}

/** Returns the line of a version, known or not: 580 of 580.95.05, 13.2 of 13.2.1. */
function lineIn(part: Part, version: string): string {
  const parts = part === 'cuda' || part === 'toolkit' ? 2 : 1;
  return version.split('.').slice(0, parts).join('.');
}

/** The newest release of each line that this program knows: of drivers the newest known .run file. */
function knownVersions(part: Part): ReadonlyMap<string, string> {
  const rows = releaseLines.filter((each) => each.part === part);
  if (part !== 'driver')
    return new Map(rows.flatMap(({ line, version, newer }) => [[line, newer ?? version ?? line] as const]));
  const files = Object.keys(digests).map((version) => [lineIn(part, version), version] as const);
  return new Map([...rows.map(({ line }) => [line, line] as const), ...files]);
}

/** Package lists have some MiB. */
const longestList = 64 * 1024 * 1024;

async function fetchText(address: string): Promise<string> {
  const answer = await fetch(address, { signal: AbortSignal.timeout(120_000) });
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  const text = await answer.text();
  if (text.length > longestList) throw new Error('longer than 64 MiB');
  return text;
}

if (process.argv[1] === import.meta.filename) {
  const lines = await checkReleases(fetchText, Date.now());
  for (const line of lines) process.stdout.write(`${line}\n`);
  process.exitCode = lines.length === 0 ? 0 : 1;
}
