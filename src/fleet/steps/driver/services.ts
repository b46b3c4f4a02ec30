import { dirname } from 'node:path';

import { sh } from '../../../shared/base/shell.ts';
import type { Facts } from '../../facts/facts.ts';
import { driverServices } from '../../facts/probes/driver.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import { type Change, runChange } from '../change.ts';
import { reloadDisturbs } from '../disturbance.ts';

/** The unit that sets up the switches between GPUs; CUDA works only after it. */
export const fabricUnit = 'nvidia-fabricmanager.service';

/** Returns how many switches join the host's GPUs. */
export function fabricSwitches({ nvswitches, nvlink5 }: Pick<Facts, 'nvswitches' | 'nvlink5'>): number {
  return nvswitches + nvlink5.switches;
}

type Unit = (typeof driverServices)[number];

/** Returns shell text for each installed unit; states are those of systemd 239 and later. Skips masked units. */
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
 * Returns the driver's services that the owner has not disabled. After an interruption (`interrupted`) a package may not have
 * enabled them yet, so all count. The fabric manager's package never enables it, and GPUs behind NVSwitches need it.
 */
export function desiredServices(facts: Facts, interrupted: boolean): readonly Unit[] {
  const { driver, unfinished } = facts;
  if (interrupted || Object.keys(unfinished).length > 0) return driverServices;
  const disabled = new Set(driver.services.flatMap(({ unit, file }) => (file === 'disabled' ? [unit] : [])));
  return driverServices.filter(
    (unit) => !disabled.has(unit) || (unit === fabricUnit && fabricSwitches(facts) > 0),
  );
}

/**
 * Shell text that makes nvidia-persistenced keep GPUs initialised. Some packages start it with `--no-persistence-mode`, from
 * udev and without [Install]. A drop-in removes the flag and starts it at boot.
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

/** Returns shell text that enables services before the module is loaded: an enabled service that is not running then shows an interruption. */
export function enableServices(units: readonly Unit[]): string {
  return [
    ...(units.includes('nvidia-persistenced.service') ? [keepInitialised] : []),
    each(units, (unit) => `systemctl enable -q ${unit}`),
  ]
    .filter(Boolean)
    .join('\n');
}

/** Shell text that disables services before their packages are removed, so that no broken links stay. */
export const disableServices = each(driverServices, (unit) => `systemctl disable -q --now ${unit}`);

/** Returns shell text that starts services. The health rules report one that does not start. */
export function startServices(units: readonly Unit[]): string {
  return each(units, (unit) => `systemctl restart ${unit} || echo '${unit} does not start'`);
}

/** Enables services that start with the driver at the next boot. */
export function* enabledServices({ driver }: Facts, units: readonly Unit[]): Generator<Change> {
  const missing = driver.services.filter(
    ({ unit, file }) => file === 'disabled' && units.some((each) => each === unit),
  );
  if (missing.length === 0) return;
  const title = `enable ${missing.map(({ unit }) => unit).join(' and ')}`;
  const why = 'not enabled at boot';
  yield runChange(
    'driver',
    'enable',
    { title, why, disturbs: 'nothing' },
    { script: enableServices(units), timeoutS: 60, writes: [managedFiles.persistence] },
  );
}

/** Starts services of an up-to-date driver. Services that the owner disabled stay so, except the fabric manager of NVSwitches. */
export function* startedServices(facts: Facts): Generator<Change> {
  const { driver } = facts;
  if (driver.loaded === undefined) return;
  const daemon = driver.services.find(({ forgets }) => forgets === true);
  if (daemon !== undefined && !['disabled', 'masked', 'masked-runtime'].includes(daemon.file)) {
    yield runChange(
      'driver',
      'persistence',
      {
        title: `configure ${daemon.unit} to keep GPUs initialised`,
        why: "its package's unit runs it with --no-persistence-mode",
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
  const why = 'not started since the driver was installed';
  const disturbs = missing.some(({ unit }) => unit === fabricUnit) ? 'gpus' : 'nothing';
  yield runChange(
    'driver',
    'services',
    { title, why, disturbs },
    { script: startScript(missing.map(({ unit }) => unit)), timeoutS: 300 },
  );
}

export function startScript(units: readonly string[]): string {
  return units
    .map((unit) => `systemctl enable -q ${unit}\nsystemctl restart ${unit} || echo '${unit} does not start'`)
    .join('\n');
}
