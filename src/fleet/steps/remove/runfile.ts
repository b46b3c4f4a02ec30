import type { HostRoot } from '../../../shared/base/machine/host-root.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import type { Facts } from '../../facts/facts.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import type { Change } from '../change.ts';
import { refusal, runChange } from '../changes.ts';
import { isOurUnit } from '../driver/runfile/persistenced.ts';
import { uninstallScript } from '../driver/runfile/scripts.ts';
import { disableServices } from '../driver/services.ts';
import { dropModule } from '../driver/unload.ts';
import type { Refusal } from '../step.ts';

/** Its owner may have run another one since. */
export function isOurRunfile({ driver, ours }: Facts): boolean {
  return ours.runfile !== undefined && ours.runfile.version === (driver.userspace ?? driver.loaded);
}

/** A driver that came from NVIDIA's `.run` file goes by its own uninstaller, where it is the one that we have installed. */
export function* runfileRemoval(facts: Facts, root: HostRoot): Generator<Change | Refusal> {
  const { runfile, loaded } = facts.driver;
  if (!runfile) return;
  if (!isOurRunfile(facts)) {
    yield refusal(
      'driver',
      'NVIDIA driver was not installed by azp-fleet: its owner has run a .run file',
      'take it away by hand (sudo nvidia-uninstall --silent), or leave --driver out',
    );
    return;
  }
  const unit = isOurUnit(facts);
  yield runChange(
    'driver',
    'remove-runfile',
    {
      title: `remove NVIDIA driver ${facts.ours.runfile?.version ?? ''}`,
      why: `--driver asks for it; ${loaded === undefined ? 'its uninstaller brings back what it had moved away' : 'its module is unloaded, unless something uses it until the next boot'}`,
      disturbs: 'containers',
      marker: 'remove',
      details: [
        { marker: 'remove', text: 'what its .run file has installed, by nvidia-uninstall' },
        ...(unit ? [{ marker: 'remove' as const, text: managedFiles.persistenced }] : []),
      ],
    },
    {
      script: uninstallScript(`${disableServices}\n${dropModule(root)}`, unit),
      timeoutS: 1800,
      writes: [HostPaths.runfile, managedFiles.persistenced],
    },
  );
}
