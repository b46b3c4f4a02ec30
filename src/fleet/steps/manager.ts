import { sha256 } from '../../shared/base/digest.ts';
import { defined } from '../../shared/base/defined.ts';
import { HostPaths, managerUnit } from '../../shared/contract/paths.ts';
import { releaseGap } from '../../shared/contract/release.ts';
import type { Facts } from '../facts/facts.ts';
import type { Change } from './change.ts';
import { later, refusal } from './changes.ts';
import { agentArch, configText, managerConfig } from './manager-config.ts';
import { managerVersion } from './manager-version.ts';
import { waitAfterDriver } from './manager/after-driver.ts';
import { givenBack } from './manager/drained.ts';
import { tooOldForHostMode } from './manager/host-mode.ts';
import { leftovers } from './manager/leftovers.ts';
import { libraries } from './manager/libraries.ts';
import { quiet, textArtifact, upload } from './manager/parts.ts';
import { program } from './manager/program.ts';
import { secrets } from './manager/secrets.ts';
import { settings } from './manager/settings.ts';
import { start } from './manager/start.ts';
import { managerUnitFor, withoutMark } from './manager/unit.ts';
import { laterPools, poolNames, withPoolNames } from './pool-names.ts';
import type { Desired, Step } from './step.ts';
import { bringAgent } from './supplies/bring-agent.ts';
import { describeFile, fieldDetails, written } from './description.ts';

/** The manager: its files, its configuration, its credential, its unit, and that it runs with all of them. */
export const managerStep: Step = {
  name: 'manager',
  *plan(facts, desired) {
    const arch = agentArch(facts.arch);
    const runtime = desired.artifacts.runtime(facts.arch);
    if (arch === undefined || runtime === undefined) return; // the image step has refused
    const gap = facts.manager.release && releaseGap(desired.host.name, facts.manager.release);
    if (gap?.manager === 'newer') {
      // What a much newer manager has written on the host, this one may not read.
      yield refusal('manager', gap.what, gap.next);
      return;
    }
    const version = managerVersion(desired, runtime);
    const pools = poolNames(desired.host, facts);
    const nameless = pools.find((pool) => pool.kind === 'never');
    if (nameless !== undefined) {
      yield refusal('manager', nameless.what, nameless.next);
      return;
    }
    const tooOld = tooOldForHostMode(facts, desired.host);
    if (tooOld !== undefined) {
      yield tooOld;
      return;
    }
    yield* libraries(facts, desired);
    yield* bringAgent(facts, desired);
    const host = withPoolNames(desired.host, facts);
    const wanted = managerConfig({ ...desired, host }, arch);
    const config = configText(wanted);
    const unit = managerUnitFor(desired.artifacts.unit, facts.systemd);
    const found = [
      ...program(facts, desired, version),
      ...settings(facts, desired.proxy.caPem, { text: config, value: wanted }),
      ...secrets(facts, desired),
      ...systemdUnit(facts, unit.text),
    ];
    const { caSha256: ca } = wanted.proxy;
    const wantedStart = { configHash: sha256(config), program: version.directory, unit: unit.mark };
    const started = [...start(facts, version, { ...wantedStart, ...defined({ ca }) }, found)];
    if (laterPools(desired.host, facts).length > 0) {
      // What the driver decides is in the configuration, and all that comes with it and after it rests on it.
      yield* [...found, ...started].map((each) => later(each, 'driver'));
      return;
    }
    yield* found;
    yield* started;
    yield* leftovers(facts, [...found.flatMap(uploadPaths), ...folderPaths(desired)]);
    yield* givenBack(facts);
    if (started.length === 0) yield* waitAfterDriver(facts, desired.host, wanted);
  },
};

function* systemdUnit(facts: Facts, unit: string): Iterable<Change> {
  const seen = facts.files[HostPaths.unit];
  if (seen === sha256(unit)) return;
  const why = seen === undefined ? 'not installed' : 'its text differs';
  const file = written(facts, HostPaths.unit, unit);
  const [before, after] = [file.before && withoutMark(file.before), withoutMark(unit)];
  const description = { ...describeFile(file), details: fieldDetails({ before, after }) };
  yield quiet('unit', { title: `install the unit ${managerUnit}`, why, ...description }, [
    upload(textArtifact(unit), HostPaths.unit, 0o644),
  ]);
}

function uploadPaths({ actions }: Change): readonly string[] {
  return actions.flatMap((action) => ('path' in action ? [action.path] : []));
}

/** The image step sends a team's folder; its archive is named by its content. */
function folderPaths({ host, artifacts }: Desired): readonly string[] {
  const folder = host.dockerfile && artifacts.folders.get(host.dockerfile.folder);
  return folder === undefined ? [] : [`${HostPaths.folders}/${folder.artifact.sha256}.tar`];
}
