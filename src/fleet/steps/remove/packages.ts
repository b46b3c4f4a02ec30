import type { HostRoot } from '../../../shared/base/machine/host-root.ts';
import { sh } from '../../../shared/base/shell.ts';
import type { Facts } from '../../facts/facts.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import type { Platform } from '../../packages/distribution.ts';
import type { Vendor } from '../../packages/vendors.ts';
import type { Change } from '../change.ts';
import { refusal, runChange } from '../changes.ts';
import type { Refusal } from '../step.ts';
import { disableServices } from '../driver/services.ts';
import { dropModule } from '../driver/unload.ts';
import type { PartName } from '../../packages/package-record.ts';
import { vendorOf } from '../packages/of-part.ts';
import { recordOf } from '../packages/recorded.ts';
import { listed } from '../description.ts';
import { ownershipOf } from './ownership.ts';
import { partsOf, type Part } from './parts.ts';
import { isOurRunfile, runfileRemoval } from './runfile.ts';
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
  const stays = facts.driver.runfile && !(asked.has('driver') && isOurRunfile(facts));
  for (const part of partsOf(facts, platform)) {
    if (part.name === 'driver' && stays) continue;
    const vendor = vendorOf[part.name];
    const { files, script } = platform.packages.withdraw(vendor);
    const sources = files.filter((file) => facts.files[file] !== undefined);
    const { ours, held } = ownershipOf(part, facts, platform);
    const goes = asked.has(part.name) && part.installed.length > 0;
    if (goes && ours.length === 0) {
      yield notOurs(part, facts, platform);
      continue;
    }
    const left = goes ? part.installed.filter((name) => !ours.includes(name)) : part.installed;
    if (goes) yield removal(part, { ours, left }, facts, platform, root);
    yield* releasedHolds(
      part,
      held.filter((name) => left.includes(name)),
      sources.length > 0,
      platform,
    );
    if (left.length > 0) {
      if (sources.length > 0) staying.add(vendor);
      continue;
    }
    if (sources.length > 0)
      yield runChange(
        part.name,
        'withdraw-source',
        {
          title: `take the package source of ${part.title} away`,
          why: goes ? 'its packages go' : 'none of its packages is installed',
          disturbs: 'nothing',
          marker: 'remove',
          details: [
            ...sources.map((text) => ({ marker: 'remove' as const, text })),
            ...stayingOff(facts, vendor),
          ],
        },
        { script, timeoutS: 60, writes: [...files] },
      );
    if (part.files.length > 0) yield settings(part, platform);
  }
  yield* othersSources(facts, platform, staying);
}

function removal(
  { name, title }: Part,
  { ours, left }: { readonly ours: readonly string[]; readonly left: readonly string[] },
  facts: Facts,
  platform: Platform,
  root: HostRoot,
): Change {
  const isWhole = left.length === 0;
  const kept =
    name === 'docker'
      ? `what Docker stores in ${facts.docker.rootDir} stays`
      : name === 'driver' && isWhole && facts.driver.loaded !== undefined
        ? 'its module is unloaded, unless something uses it until the next boot'
        : 'their settings stay';
  return runChange(
    name,
    'remove',
    {
      title: isWhole ? `remove ${title}` : `remove our part of ${title}`,
      why: `--${name} asks for it; ${kept}`,
      disturbs: 'containers',
      marker: 'remove',
      details: [
        { marker: 'remove', text: listed(ours) },
        ...(isWhole
          ? []
          : [
              {
                marker: 'change' as const,
                text: `stays: ${listed(left)}`,
                effect: 'not brought by azp-fleet',
              },
            ]),
      ],
    },
    {
      script: platform.packages.remove(
        ours,
        name === 'driver' && isWhole ? `${disableServices}\n${dropModule(root)}` : undefined,
      ),
      timeoutS: 1800,
    },
  );
}

/** Whoever has installed them knows why. */
function notOurs({ name, title, installed }: Part, facts: Facts, platform: Platform): Refusal {
  const why =
    recordOf(name, facts, platform) === undefined
      ? 'its packages come from no source of ours'
      : 'its packages were there before, or came with somebody else';
  return refusal(
    name,
    `${title} was not installed by azp-fleet: ${why}`,
    `take it away by hand (${platform.packages.removal(installed)}), or leave --${name} out`,
  );
}

function* releasedHolds(
  { name, title }: Part,
  held: readonly string[],
  hasSource: boolean,
  platform: Platform,
): Generator<Change> {
  if (held.length === 0) return;
  const then = hasSource
    ? 'its source stays, so that it gets upgrades'
    : 'it gets upgrades where the host has a source';
  yield runChange(
    name,
    'unhold',
    {
      title: `release the hold on ${title}`,
      why: `nobody keeps its version any more; ${then}`,
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
