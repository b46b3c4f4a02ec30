import { sh } from '../../base/shell.ts';
import type { PackageManager } from '../package-manager.ts';
import { dnfFiles, dnfFolders } from './files.ts';
import { holdScript, installScript } from './install.ts';
import { dnfInstalled } from './installed.ts';
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
  files: dnfFiles,
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
  removal: (names) => sh`sudo dnf remove ${names}`,
};
