import type { ScriptSuite } from '../support/scratch/case.ts';
import { rebootSuite } from '../unit/fleet/apply/reboot-cases.ts';
import { probeSuite } from '../unit/fleet/facts/probe-cases.ts';
import { smiSuite } from '../unit/shared/health/smi-cases.ts';
import { imageSuite } from '../unit/shared/image/image-cases.ts';
import { agentStartSuite } from '../unit/manager/docker/start-cases.ts';
import { agentLibrariesSuite } from '../unit/fleet/packages/apt/agent-libraries-cases.ts';
import { gatherSuite } from '../unit/fleet/packages/apt/gather-cases.ts';
import { headersSuite } from '../unit/fleet/packages/apt/headers-cases.ts';
import { installSuite } from '../unit/fleet/packages/apt/install-cases.ts';
import { prepareSuite } from '../unit/fleet/packages/apt/prepare-cases.ts';
import { removalSuite } from '../unit/fleet/packages/apt/removal-cases.ts';
import { simulationSuite } from '../unit/fleet/packages/apt/simulation-cases.ts';
import { sourceSuite } from '../unit/fleet/packages/apt/source-cases.ts';
import { consequencesSuite as dnfConsequencesSuite } from '../unit/fleet/packages/dnf/consequences-cases.ts';
import { gatherSuite as dnfGatherSuite } from '../unit/fleet/packages/dnf/gather-cases.ts';
import { headersSuite as dnfHeadersSuite } from '../unit/fleet/packages/dnf/headers-cases.ts';
import { installSuite as dnfInstallSuite } from '../unit/fleet/packages/dnf/install-cases.ts';
import { folderSuite as dnfFolderSuite } from '../unit/fleet/packages/dnf/offline-cases.ts';
import { folderSimulationSuite as dnfFolderSimulationSuite } from '../unit/fleet/packages/dnf/offline-simulation-cases.ts';
import { simulationSuite as dnfSimulationSuite } from '../unit/fleet/packages/dnf/simulation-cases.ts';
import { sourceSuite as dnfSourceSuite } from '../unit/fleet/packages/dnf/source-cases.ts';
import { packageRecordSuite } from '../unit/fleet/packages/package-record-cases.ts';
import { followChangeSuite } from '../unit/fleet/ssh/session/follow-change-cases.ts';
import { auditSuite, lockSuite } from '../unit/fleet/ssh/session/lock-cases.ts';
import { framesSuite } from '../unit/fleet/ssh/session/frames-cases.ts';
import { pipeSuite } from '../unit/fleet/ssh/session/pipe-cases.ts';
import { startSuite } from '../unit/fleet/ssh/session/start-cases.ts';
import { startChangeSuite } from '../unit/fleet/ssh/session/start-change-cases.ts';
import { uploadSuite } from '../unit/fleet/ssh/session/upload-cases.ts';
import { configSuite } from '../unit/fleet/steps/docker/config-cases.ts';
import { engineSuite } from '../unit/fleet/steps/docker/engine-cases.ts';
import { loadSuite } from '../unit/fleet/steps/driver/load-cases.ts';
import { fetchSuite } from '../unit/fleet/steps/driver/runfile-fetch-cases.ts';
import { runfileSuite } from '../unit/fleet/steps/driver/runfile-scripts-cases.ts';
import { fetchRuntimeSuite, managerSuite, tokenSuite } from '../unit/fleet/steps/manager/scripts-cases.ts';
import { broughtSuite } from '../unit/fleet/steps/bundle/brought-cases.ts';
import { removeSuite } from '../unit/fleet/steps/remove/scripts-cases.ts';
import { cdiSuite } from '../unit/fleet/steps/toolkit/cdi-cases.ts';

/** The scripts that are damaged, with the runs that should notice. */
export const suites: readonly ScriptSuite[] = [
  sourceSuite,
  prepareSuite,
  headersSuite,
  agentLibrariesSuite,
  installSuite,
  removalSuite,
  simulationSuite,
  gatherSuite,
  dnfSourceSuite,
  dnfConsequencesSuite,
  dnfHeadersSuite,
  dnfInstallSuite,
  dnfSimulationSuite,
  dnfGatherSuite,
  dnfFolderSuite,
  dnfFolderSimulationSuite,
  packageRecordSuite,
  engineSuite,
  configSuite,
  loadSuite,
  fetchSuite,
  runfileSuite,
  cdiSuite,
  broughtSuite,
  managerSuite,
  fetchRuntimeSuite,
  tokenSuite,
  startChangeSuite,
  followChangeSuite,
  lockSuite,
  auditSuite,
  uploadSuite,
  startSuite,
  framesSuite,
  pipeSuite,
  probeSuite,
  smiSuite,
  rebootSuite,
  imageSuite,
  agentStartSuite,
  removeSuite,
];
