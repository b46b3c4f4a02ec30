// The agent's update on the server's request: finds the package, reports to the server, downloads it, and installs it
// over itself. Real: output and requests (the same sentences), and that nothing happens without a newer package or when
// the download fails. Stand-in: unpacked at once, instead of by a script after the exit; one download, not three.
import { spawnSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from './connection.mjs';
import { say } from './say.mjs';
import { root, version } from './settings.mjs';

const platform = `linux-${process.arch === 'arm64' ? 'arm64' : 'x64'}`;

/**
 * Returns true when the new version is installed and only has to be started. Never throws: a failed update is ignored.
 * `jobDone`: resolves when no job runs.
 */
export async function update(settings, { targetVersion }, jobDone, signal) {
  try {
    const server = new Connection(settings);
    const release = await find(server, targetVersion, signal);
    if (release === undefined) return false;
    const report = async (name, ...values) => {
      const state = encodeURIComponent(say(name, ...values));
      const { poolId, agentId } = settings;
      const path = `/_apis/distributedtask/pools/${poolId}/agents/${agentId}/updates?currentState=${state}`;
      await server.send('PUT', path, { body: {}, signal }).catch(() => undefined);
    };
    await report('updating');
    await report('downloading', release.version);
    const install = await fetched(release.url, signal);
    await report('waitingForJob');
    await jobDone();
    await report('updateScript');
    install();
    await report('exitingForUpdate');
    return true;
  } catch {
    return false;
  }
}

async function find(server, targetVersion, signal) {
  const packages = `/_apis/distributedtask/packages/agent/${platform}`;
  const found =
    targetVersion === undefined
      ? (await server.send('GET', `${packages}?$top=1`, { signal })).value[0]
      : await server.send('GET', `${packages}/${targetVersion}`, { signal });
  if (found === undefined) return undefined;
  const { major, minor, patch } = found.version;
  const numbers = [major, minor, patch];
  return isNewer(numbers) ? { version: numbers.join('.'), url: found.downloadUrl } : undefined;
}

function isNewer(numbers) {
  const own = version().split('.').map(Number);
  const at = numbers.findIndex((number, index) => number !== own[index]);
  return at !== -1 && numbers[at] > own[at];
}

/** Returns what puts the downloaded version in place. */
async function fetched(url, signal) {
  const response = await fetch(url, { signal });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  const folder = join(root, '_work', '_update');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const archive = join(folder, 'agent.tar.gz');
  writeFileSync(archive, Buffer.from(await response.arrayBuffer()));
  const { status } = spawnSync('tar', ['-xzf', archive, '-C', folder]);
  if (status !== 0) throw new Error('the archive cannot be unpacked');
  return () => {
    for (const part of ['bin', 'externals']) {
      rmSync(join(root, part), { recursive: true });
      renameSync(join(folder, part), join(root, part));
    }
  };
}
