import type { HostRoot } from '../../base/machine/host-root.ts';
import { sh } from '../../base/shell.ts';
import type { Facts } from '../../facts/facts.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import type { Platform } from '../../packages/distribution.ts';
import type { Vendor } from '../../packages/vendors.ts';
import type { Change } from '../change.ts';
import { refusal, runChange } from '../changes.ts';
import type { Refusal } from '../step.ts';
import { disableServices } from '../driver/services.ts';
import { dropModule } from '../driver/unload.ts';
import { listed } from '../told/items.ts';
import { isOurRunfile, runfileRemoval } from './runfile.ts';
import { partsOf, type Part, type PartName } from './parts.ts';
import { othersSources, stayingOff } from './sources.ts';

/** Toolkit, engine and driver: what is asked for goes, and of the others only that their versions are kept. */
export function* packages(
  facts: Facts,
  platform: Platform,
  asked: ReadonlySet<PartName>,
  root: HostRoot,
): Generator<Change | Refusal> {
  const staying = new Set<Vendor>();
  if (asked.has('driver')) yield* runfileRemoval(facts, root);
  // What keeps nouveau away from it stays with it.
  const left = facts.driver.runfile && !(asked.has('driver') && isOurRunfile(facts));
  for (const part of partsOf(facts, platform)) {
    if (part.name === 'driver' && left) continue;
    const { files, note, script } = platform.packages.withdraw(part.vendor);
    const found = files.filter((file) => facts.files[file] !== undefined);
    const isOurs = found.length > 0;
    const goes = asked.has(part.name) && part.installed.length > 0;
    if (isOurs && part.installed.length > 0 && !goes) staying.add(part.vendor);
    if (goes && !isOurs) {
      yield notOurs(part, platform);
      continue;
    }
    if (goes) yield removal(part, facts, platform, root);
    else if (isOurs) yield* releasedHolds(part, facts, platform);
    if (part.installed.length > 0 && !goes) continue;
    if (isOurs)
      yield runChange(
        part.name,
        'withdraw-source',
        {
          title: found.every((file) => file === note)
            ? `forget that ${part.title} was installed by azp-fleet`
            : `take the package source of ${part.title} away`,
          why: goes ? 'its packages go' : 'none of its packages is installed',
          disturbs: 'nothing',
          marker: 'remove',
          details: [
            ...found.map((text) => ({ marker: 'remove' as const, text })),
            ...stayingOff(facts, part.vendor),
          ],
        },
        { script, timeoutS: 60, writes: [...files] },
      );
    if (part.files.length > 0) yield settings(part, platform);
  }
  yield* othersSources(facts, platform, staying);
}

function removal(part: Part, facts: Facts, platform: Platform, root: HostRoot): Change {
  const { name, title, installed } = part;
  const kept =
    name === 'docker'
      ? `what Docker stores in ${facts.docker.rootDir} stays`
      : name === 'driver' && facts.driver.loaded !== undefined
        ? 'its module is unloaded, unless something uses it until the next boot'
        : 'their settings stay';
  return runChange(
    name,
    'remove',
    {
      title: `remove ${title}`,
      why: `--${name} asks for it; ${kept}`,
      disturbs: 'containers',
      marker: 'remove',
      details: [{ marker: 'remove', text: listed(installed) }],
    },
    {
      script: platform.packages.remove(
        installed,
        name === 'driver' ? `${disableServices}\n${dropModule(root)}` : undefined,
      ),
      timeoutS: 1800,
    },
  );
}

/** No other may name a source of ours: whoever has installed them knows why. */
function notOurs({ name, title, installed }: Part, { packages: manager }: Platform): Refusal {
  return refusal(
    name,
    `${title} was not installed by azp-fleet: its packages come from no source of ours`,
    `take it away by hand (${manager.removal(installed)}), or leave --${name} out`,
  );
}

function* releasedHolds(
  { name, title, installed }: Part,
  facts: Facts,
  platform: Platform,
): Generator<Change> {
  const held = installed.filter((each) => facts.held.includes(each));
  if (held.length === 0) return;
  yield runChange(
    name,
    'unhold',
    {
      title: `release the hold on ${title}`,
      why: 'nobody keeps its version any more; its source stays, so that it gets upgrades',
      disturbs: 'nothing',
      marker: 'remove',
      details: [{ marker: 'remove', text: `hold on ${listed(held)}` }],
    },
    { script: platform.packages.unhold(held), timeoutS: 1800 },
  );
}

/** What keeps nouveau away, and GPUs initialised. */
function settings({ name, files }: Part, { names }: Platform): Change {
  const refresh = files.includes(managedFiles.nouveauBlacklist) ? `\n${names.driver.refreshInitramfs}` : '';
  return runChange(
    name,
    'settings',
    {
      title: 'take our settings for the NVIDIA driver away',
      why: 'no driver is left that needs them',
      disturbs: 'nothing',
      marker: 'remove',
      details: files.map((file) => ({ marker: 'remove', text: file })),
    },
    {
      script: `${sh`rm -f ${files}
rmdir /etc/systemd/system/nvidia-persistenced.service.d 2>/dev/null || :
systemctl daemon-reload`}${refresh}`,
      timeoutS: 600,
      writes: [...files],
    },
  );
}
