import type { ScriptSuite } from '../support/scratch/case.ts';
import { rebootSuite } from '../unit/apply/reboot-cases.ts';
import { probeSuite } from '../unit/facts/probe-cases.ts';
import { smiSuite } from '../unit/health/smi-cases.ts';
import { imageSuite } from '../unit/image/image-cases.ts';
import { agentStartSuite } from '../unit/manager/docker/start-cases.ts';
import { agentLibrariesSuite } from '../unit/packages/apt/names/agent-libraries-cases.ts';
import { headersSuite } from '../unit/packages/apt/headers-cases.ts';
import { installSuite } from '../unit/packages/apt/install-cases.ts';
import { prepareSuite } from '../unit/packages/apt/prepare-cases.ts';
import { removalSuite } from '../unit/packages/apt/removal-cases.ts';
import { simulationSuite } from '../unit/packages/apt/simulation/simulation-cases.ts';
import { sourceSuite } from '../unit/packages/apt/source-cases.ts';
import { consequencesSuite as dnfConsequencesSuite } from '../unit/packages/dnf/consequences-cases.ts';
import { headersSuite as dnfHeadersSuite } from '../unit/packages/dnf/headers-cases.ts';
import { installSuite as dnfInstallSuite } from '../unit/packages/dnf/install-cases.ts';
import { simulationSuite as dnfSimulationSuite } from '../unit/packages/dnf/simulation/simulation-cases.ts';
import { sourceSuite as dnfSourceSuite } from '../unit/packages/dnf/source-cases.ts';
import { packageRecordSuite } from '../unit/packages/package-record-cases.ts';
import { followChangeSuite } from '../unit/ssh/session/follow-change-cases.ts';
import { lockSuite } from '../unit/ssh/session/lock-cases.ts';
import { framesSuite } from '../unit/ssh/session/frames-cases.ts';
import { pipeSuite } from '../unit/ssh/session/pipe-cases.ts';
import { startSuite } from '../unit/ssh/session/start-cases.ts';
import { startChangeSuite } from '../unit/ssh/session/start-change-cases.ts';
import { uploadSuite } from '../unit/ssh/session/upload-cases.ts';
import { configSuite } from '../unit/steps/docker/config-cases.ts';
import { engineSuite } from '../unit/steps/docker/engine-cases.ts';
import { loadSuite } from '../unit/steps/driver/load-cases.ts';
import { fetchSuite } from '../unit/steps/driver/runfile/fetch-cases.ts';
import { runfileSuite } from '../unit/steps/driver/runfile/scripts-cases.ts';
import { managerSuite } from '../unit/steps/manager-scripts-cases.ts';
import { broughtSuite } from '../unit/steps/supplies/brought-cases.ts';
import { cdiSuite } from '../unit/steps/toolkit/cdi-cases.ts';

/** The scripts that are damaged, with the runs that should notice. */
export const suites: readonly ScriptSuite[] = [
  sourceSuite,
  prepareSuite,
  headersSuite,
  agentLibrariesSuite,
  installSuite,
  removalSuite,
  simulationSuite,
  dnfSourceSuite,
  dnfConsequencesSuite,
  dnfHeadersSuite,
  dnfInstallSuite,
  dnfSimulationSuite,
  packageRecordSuite,
  engineSuite,
  configSuite,
  loadSuite,
  fetchSuite,
  runfileSuite,
  cdiSuite,
  broughtSuite,
  managerSuite,
  startChangeSuite,
  followChangeSuite,
  lockSuite,
  uploadSuite,
  startSuite,
  framesSuite,
  pipeSuite,
  probeSuite,
  smiSuite,
  rebootSuite,
  imageSuite,
  agentStartSuite,
];
