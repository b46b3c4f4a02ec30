import { sh } from '../../../shared/base/shell.ts';
import { folderMark, packagesFolder } from '../offline/paths.ts';
import type { PackageManager } from '../package-manager.ts';
import { aptAnswers } from './simulation/answers.ts';
import { downloader } from './download.ts';
import { aptFiles, aptFolders } from './files.ts';
import { holdScript, installScript } from './install.ts';
import { aptInstalled } from './installed.ts';
import { architectures } from './layouts.ts';
import { aptLocks } from './prelude.ts';
import { simulateScript } from './simulation/script.ts';
import { removeScript, unholdScript } from './removal/packages.ts';
import { fromFolder } from './folder/from-folder.ts';
import { gatherScript } from './folder/gather.ts';
import { indexName } from './flat.ts';
import { listedPackages, tidyScript } from './folder/index.ts';
import { withdrawal } from './removal/source.ts';
import { aptSource } from './source.ts';
import { aptTrust } from './trust.ts';

/** Debian's and Ubuntu's package manager. */
export const apt: PackageManager = {
  name: 'apt',
  files: [...aptFiles, folderMark],
  sourceFolder: '/etc/apt/sources.list.d',
  folders: aptFolders,
  locks: aptLocks,
  installed: aptInstalled,
  // The Debian packages' name, and Ubuntu's.
  driverLibraries: /^(libnvidia-ml1|libnvidia-compute(-\d+(-server)?)?|nvidia-driver-cuda)$/,
  trust: aptTrust,
  source: aptSource,
  simulator: { script: simulateScript, parse: aptAnswers },
  install: installScript,
  hold: holdScript,
  unhold: unholdScript,
  remove: removeScript,
  withdraw: withdrawal,
  downloader,
  removal: (names) => sh`sudo apt-get remove ${names}`,
  offline: {
    folder: packagesFolder,
    index: `${packagesFolder}/${indexName}`,
    mark: folderMark,
    kernels: (id, machine) => [
      id === 'ubuntu' ? 'linux-image-generic' : `linux-image-${architectures[machine]}`,
    ],
    isKernel: (name) => name.startsWith('linux-image'),
    image: ({ id, versionId }) => `${id}:${versionId}`,
    subscription: () => [],
    gather: gatherScript,
    fetches: /^Get:/,
    listed: listedPackages,
    bringsToHold: false,
    tidy: tidyScript,
    manager: (index, next) => fromFolder(apt, index, next),
  },
};
