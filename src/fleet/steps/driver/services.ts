import { dirname } from 'node:path';

import { sh } from '../../../shared/base/shell.ts';
import type { Facts } from '../../facts/facts.ts';
import { driverServices } from '../../facts/probes/driver.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import { type Change, runChange } from '../change.ts';
import { reloadDisturbs } from '../disturbance.ts';

/** Sets up the switches between GPUs; CUDA begins only after it. */
export const fabricUnit = 'nvidia-fabricmanager.service';

/** Returns how many switches join the host's GPUs. */
export function fabricSwitches({ nvswitches, nvlink5 }: Pick<Facts, 'nvswitches' | 'nvlink5'>): number {
  return nvswitches + nvlink5.switches;
}

type Unit = (typeof driverServices)[number];

/** Of those that are there, in systemd's words from 239 on. One that its owner has masked nothing enables or starts. */
function each(units: readonly Unit[], work: (unit: Unit) => string): string {
  return units
    .map(
      (unit) => `case $(systemctl is-enabled ${unit} 2>/dev/null) in
  '' | not-found | masked*) ;;
  *) ${work(unit)} ;;
esac`,
    )
    .join('\n');
}

/**
 * Those that are at home here, and that nobody has disabled. Where packages or a run were cut off, it may be that nobody has
 * enabled them yet. The fabric manager's package never does, and GPUs behind switches need it.
 */
export function wantedServices(facts: Facts, cut: boolean): readonly Unit[] {
  const { driver, unfinished } = facts;
  if (cut || Object.keys(unfinished).length > 0) return driverServices;
  const disabled = new Set(driver.services.flatMap(({ unit, file }) => (file === 'disabled' ? [unit] : [])));
  return driverServices.filter(
    (unit) => !disabled.has(unit) || (unit === fabricUnit && fabricSwitches(facts) > 0),
  );
}

/**
 * Some packages' unit of the daemon keeps no GPU initialised (`--no-persistence-mode`), and has no [Install]: udev starts it, and
 * it ends when nothing wants it. A drop-in takes the flag away, and gives it a start at boot.
 */
const keepInitialised = sh`drop_in=${managedFiles.persistence}
command=$(systemctl cat nvidia-persistenced.service 2>/dev/null |
  sed -n 's/^ExecStart=\(.*\) --no-persistence-mode\(.*\)/\1\2/p' | tail -n 1)
if [ -n "$command" ]; then
  text=$(printf '%s\n' '# Written by azp-fleet: GPUs stay initialised between containers.' \
    '[Unit]' StopWhenUnneeded=false '' '[Service]' ExecStart= "ExecStart=$command" '' '[Install]' WantedBy=multi-user.target)
  if [ "$(cat "$drop_in" 2>/dev/null)" != "$text" ]; then
    install -d -m 755 ${dirname(managedFiles.persistence)}
    printf '%s\n' "$text" >"$drop_in.new"
    mv "$drop_in.new" "$drop_in"
    systemctl daemon-reload
  fi
fi`;

/** Before the module is loaded: one that is enabled and does not run then tells of an interruption. */
export function enableServices(units: readonly Unit[]): string {
  return [
    ...(units.includes('nvidia-persistenced.service') ? [keepInitialised] : []),
    each(units, (unit) => `systemctl enable -q ${unit}`),
  ]
    .filter(Boolean)
    .join('\n');
}

/** Before their packages go: what was enabled for them would point at nothing. */
export const disableServices = each(driverServices, (unit) => `systemctl disable -q --now ${unit}`);

/** One that does not start is the health rules' affair. */
export function startServices(units: readonly Unit[]): string {
  return each(units, (unit) => `systemctl restart ${unit} || echo '${unit} does not start'`);
}

/** They come up with the boot that brings the driver. */
export function* enabledServices({ driver }: Facts, units: readonly Unit[]): Generator<Change> {
  const missing = driver.services.filter(
    ({ unit, file }) => file === 'disabled' && units.some((each) => each === unit),
  );
  if (missing.length === 0) return;
  const title = `enable ${missing.map(({ unit }) => unit).join(' and ')}`;
  const why = 'it is not enabled at boot';
  yield runChange(
    'driver',
    'enable',
    { title, why, disturbs: 'nothing' },
    { script: enableServices(units), timeoutS: 60, writes: [managedFiles.persistence] },
  );
}

/** The driver is as wanted. What its owner has disabled stays so, but no GPU works behind NVSwitches without theirs. */
export function* startedServices(facts: Facts): Generator<Change> {
  const { driver } = facts;
  if (driver.loaded === undefined) return;
  const daemon = driver.services.find(({ forgets }) => forgets === true);
  if (daemon !== undefined && !['disabled', 'masked', 'masked-runtime'].includes(daemon.file)) {
    yield runChange(
      'driver',
      'persistence',
      {
        title: `have ${daemon.unit} keep the GPUs initialised`,
        why: 'it runs with --no-persistence-mode, as its package has it',
        disturbs: reloadDisturbs(facts),
        marker: 'change',
      },
      {
        script: `${keepInitialised}\n${startScript([daemon.unit])}`,
        timeoutS: 300,
        writes: [managedFiles.persistence],
      },
    );
    return;
  }
  const missing = driver.services.filter(
    ({ unit, file, active }) =>
      (file === 'enabled' && active === 'inactive') ||
      (file === 'disabled' && fabricSwitches(facts) > 0 && unit === fabricUnit),
  );
  if (missing.length === 0) return;
  const title = `start ${missing.map(({ unit }) => unit).join(' and ')}`;
  const why = 'it has not been started since the driver was installed';
  yield runChange(
    'driver',
    'services',
    { title, why, disturbs: 'nothing' },
    { script: startScript(missing.map(({ unit }) => unit)), timeoutS: 300 },
  );
}

export function startScript(units: readonly string[]): string {
  return units
    .map((unit) => `systemctl enable -q ${unit}\nsystemctl restart ${unit} || echo '${unit} does not start'`)
    .join('\n');
}
