import { sh } from '../../../shared/base/shell.ts';
import { folderMark, packagesFolder } from '../offline/paths.ts';
import type { PackageManager } from '../package-manager.ts';
import { downloader } from './downloader.ts';
import { dnfFiles, dnfFolders } from './files.ts';
import { indexPath } from './folder/flat.ts';
import { fromFolder } from './folder/from-folder.ts';
import { gatherScript } from './folder/gather.ts';
import { imageOf, subscription } from './folder/image.ts';
import { listedPackages, tidyScript } from './folder/index.ts';
import { holdScript, installScript } from './install.ts';
import { dnfInstalled, kernelPackage } from './installed.ts';
import { dnfLocks } from './prelude.ts';
import { removeScript, unholdScript } from './removal/packages.ts';
import { withdrawal } from './removal/source.ts';
import { dnfAnswers } from './simulation/answers.ts';
import { simulateScript } from './simulation/script.ts';
import { dnfSource } from './source.ts';
import { dnfTrust } from './trust.ts';

/** dnf 4 with rpm: Red Hat Enterprise Linux 8 to 10 and its kin, Amazon Linux 2023. */
export const dnf: PackageManager = {
  name: 'dnf',
  files: [...dnfFiles, folderMark],
  sourceFolder: '/etc/yum.repos.d',
  folders: dnfFolders,
  locks: dnfLocks,
  installed: dnfInstalled,
  driverLibraries: /^nvidia-driver-cuda-libs$/,
  trust: dnfTrust,
  source: dnfSource,
  simulator: { script: simulateScript, parse: dnfAnswers },
  install: installScript,
  hold: holdScript,
  unhold: unholdScript,
  remove: removeScript,
  withdraw: withdrawal,
  downloader,
  removal: (names) => sh`sudo dnf remove ${names}`,
  offline: {
    folder: packagesFolder,
    index: `${packagesFolder}/${indexPath}`,
    mark: folderMark,
    // What builds modules leans on the headers of the newest kernel by itself.
    kernels: () => [],
    isKernel: (name) => kernelPackage.test(name),
    image: imageOf,
    subscription,
    gather: gatherScript,
    fetches: /^\(\d+\/\d+\): /,
    listed: listedPackages,
    bringsToHold: true,
    tidy: tidyScript,
    manager: (index, next) => fromFolder(dnf, index, next),
  },
};
