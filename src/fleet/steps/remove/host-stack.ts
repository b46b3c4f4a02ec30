import type { Facts, DisabledSource } from '../../facts/facts.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import type { Platform } from '../../packages/distribution.ts';
import type { PartName } from '../../packages/package-record.ts';
import { restoreSources } from '../../packages/sources.ts';
import type { Vendor } from '../../packages/vendors.ts';
import { type Change, type Detail, type Refusal, refusal, runChange } from '../change.ts';
import { listed } from '../description.ts';
import { unloadModule } from '../driver/module.ts';
import { isOurUnit, uninstallScript } from '../driver/runfile-scripts.ts';
import { disableServices } from '../driver/services.ts';
import { vendorOf } from '../packages/parts.ts';
import { recordOf } from '../packages/recorded.ts';
import { ownershipOf, type Part, partsOf } from './ownership.ts';
import type { HostRoot } from '../../../shared/base/host-root.ts';
import { sh } from '../../../shared/base/shell.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';

/** Removes the requested parts (toolkit, engine, driver), and the holds on the others. */
export function* packages(
  facts: Facts,
  platform: Platform,
  asked: ReadonlySet<PartName>,
  root: HostRoot,
): Generator<Change | Refusal> {
  const staying = new Set<Vendor>();
  if (asked.has('driver')) yield* runfileRemoval(facts, root);
  // A .run driver that stays needs the nouveau blacklist.
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
    yield* releaseHolds(
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
          title: `remove the package repository of ${part.title}`,
          why: goes ? 'its packages are removed' : 'none of its packages is installed',
          disturbs: 'nothing',
          marker: 'remove',
          details: [
            ...sources.map((text) => ({ marker: 'remove' as const, text })),
            ...stayingDisabled(facts, vendor),
          ],
        },
        { script, timeoutS: 60, writes: [...files] },
      );
    if (part.files.length > 0) yield settings(part, platform);
  }
  yield* enableOtherSources(facts, platform, staying);
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
      ? `data in ${facts.docker.rootDir} stays`
      : name === 'driver' && isWhole && facts.driver.loaded !== undefined
        ? 'its module is unloaded, unless something uses it until the next boot'
        : 'their settings stay';
  return runChange(
    name,
    'remove',
    {
      title: isWhole ? `remove ${title}` : `remove azp-fleet's part of ${title}`,
      why: `requested with --${name}; ${kept}`,
      disturbs: name === 'driver' ? 'gpus' : 'containers',
      marker: 'remove',
      details: [
        { marker: 'remove', text: listed(ours) },
        ...(isWhole
          ? []
          : [
              {
                marker: 'change' as const,
                text: `stays: ${listed(left)}`,
                effect: 'not installed by azp-fleet',
              },
            ]),
      ],
    },
    {
      script: platform.packages.remove(
        ours,
        name === 'driver' && isWhole ? `${disableServices}\n${unloadModule(root)}` : undefined,
      ),
      timeoutS: 1800,
    },
  );
}

/** Refuses to remove packages that azp-fleet did not install. */
function notOurs({ name, title, installed }: Part, facts: Facts, platform: Platform): Refusal {
  const why =
    recordOf(name, facts, platform) === undefined
      ? 'its packages come from no repository of azp-fleet'
      : 'its packages were installed before, or by another user';
  return refusal(
    name,
    `${title} was not installed by azp-fleet: ${why}`,
    `remove it by hand (${platform.packages.removal(installed)}), or run without --${name}`,
  );
}

function* releaseHolds(
  { name, title }: Part,
  held: readonly string[],
  hasSource: boolean,
  platform: Platform,
): Generator<Change> {
  if (held.length === 0) return;
  const then = hasSource
    ? 'its repository stays, so it gets upgrades'
    : 'it gets upgrades if the host has a repository';
  yield runChange(
    name,
    'unhold',
    {
      title: `release the hold on ${title}`,
      why: `its version is no longer held; ${then}`,
      disturbs: 'nothing',
      marker: 'remove',
      details: [{ marker: 'remove', text: `hold on ${listed(held)}` }],
    },
    { script: platform.packages.unhold(held), timeoutS: 1800 },
  );
}

/** Removes the nouveau blacklist and the drop-in of nvidia-persistenced. */
function settings({ name, files }: Part, { names }: Platform): Change {
  const refresh = files.includes(managedFiles.nouveauBlacklist) ? `\n${names.driver.refreshInitramfs}` : '';
  return runChange(
    name,
    'settings',
    {
      title: "remove azp-fleet's settings for the NVIDIA driver",
      why: 'no driver uses them',
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

/** Returns whether azp-fleet installed the present `.run` driver; the owner may have installed another one since. */
export function isOurRunfile({ driver, ours }: Facts): boolean {
  return ours.runfile !== undefined && ours.runfile.version === (driver.userspace ?? driver.loaded);
}

/** Removes a `.run` driver that azp-fleet installed, with NVIDIA's uninstaller. */
function* runfileRemoval(facts: Facts, root: HostRoot): Generator<Change | Refusal> {
  const { runfile, loaded } = facts.driver;
  if (!runfile) return;
  if (!isOurRunfile(facts)) {
    yield refusal(
      'driver',
      'NVIDIA driver was not installed by azp-fleet: its owner ran a .run file',
      'remove it by hand (sudo nvidia-uninstall --silent), or run without --driver',
    );
    return;
  }
  const unit = isOurUnit(facts);
  yield runChange(
    'driver',
    'remove-runfile',
    {
      title: `remove NVIDIA driver ${facts.ours.runfile?.version ?? ''}`,
      why: `requested with --driver; ${loaded === undefined ? 'its uninstaller restores the files that it replaced' : 'its module is unloaded, unless something uses it until the next boot'}`,
      disturbs: 'gpus',
      marker: 'remove',
      details: [
        { marker: 'remove', text: 'everything its .run file installed, by nvidia-uninstall' },
        ...(unit ? [{ marker: 'remove' as const, text: managedFiles.persistenced }] : []),
      ],
    },
    {
      script: uninstallScript(`${disableServices}\n${unloadModule(root)}`, unit),
      timeoutS: 1800,
      writes: [HostPaths.runfile, managedFiles.persistenced],
    },
  );
}

/** Enables the owner's repositories again once azp-fleet's repositories for the same packages are removed. */
function* enableOtherSources(
  { ours: { sources } }: Facts,
  { packages }: Platform,
  staying: ReadonlySet<Vendor>,
): Generator<Change> {
  const disabled = sources.filter(
    ({ by, names, taken }) =>
      by !== undefined && !taken && [by, ...names].every((vendor) => !staying.has(vendor)),
  );
  if (disabled.length === 0) return;
  yield runChange(
    'driver',
    'give-back',
    {
      title: 'enable other package repositories again',
      why: "they were disabled while azp-fleet's were used",
      disturbs: 'nothing',
      details: disabled.map(({ file }) => ({ marker: 'add', text: file })),
    },
    { script: restoreSources(disabled), timeoutS: 60, writes: [packages.sourceFolder] },
  );
}

/** Describes repositories that stay disabled although azp-fleet's is removed, and what the owner can do. */
function stayingDisabled({ ours: { sources } }: Facts, vendor: Vendor): readonly Detail[] {
  return sources
    .filter(({ by, names }) => by === vendor || (by === undefined && names.includes(vendor)))
    .flatMap((source) => {
      const effect = whyDisabled(source);
      return effect === undefined
        ? []
        : [{ marker: 'change', text: `${source.aside} stays disabled`, effect }];
    });
}

function whyDisabled({ file, aside, by, taken }: DisabledSource): string | undefined {
  if (taken) return `another ${file} exists: compare them, and delete one`;
  if (by !== undefined) return undefined;
  return `unknown who disabled it; to enable it: sudo mv '${aside}' '${file}'`;
}
