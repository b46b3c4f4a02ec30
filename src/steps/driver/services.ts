import type { Facts } from '../../facts/facts.ts';
import { driverServices } from '../../facts/probes/driver.ts';
import type { Change } from '../change.ts';
import { runChange } from '../changes.ts';

const each = (work: string) => `for service in ${driverServices.join(' ')}; do
  if systemctl cat "$service" >/dev/null 2>&1; then ${work}; fi
done`;

/** Before the module is loaded: one that is enabled and does not run then tells of an interruption. */
export const enableServices = each('systemctl enable -q "$service"');

/** One that does not start is the health rules' affair. */
export const startServices = each('systemctl restart "$service" || echo "$service does not start"');

/** They come up with the boot that brings the driver. */
export function* enabledServices({ driver }: Facts): Generator<Change> {
  const missing = driver.services.filter(({ file }) => file === 'disabled');
  if (missing.length === 0) return;
  const title = `enable ${missing.map(({ unit }) => unit).join(' and ')}`;
  const why = 'the driver came without a start at boot';
  yield runChange(
    'driver',
    'enable',
    { title, why, disturbs: 'nothing' },
    { script: enableServices, timeoutS: 60 },
  );
}

/** The driver is as wanted. What its owner has disabled stays so, but no GPU works behind NVSwitches without theirs. */
export function* startedServices({ driver, nvswitches }: Facts): Generator<Change> {
  if (driver.loaded === undefined) return;
  const missing = driver.services.filter(
    ({ unit, file, active }) =>
      (file === 'enabled' && active === 'inactive') ||
      (file === 'disabled' && nvswitches > 0 && unit === 'nvidia-fabricmanager.service'),
  );
  if (missing.length === 0) return;
  const title = `start ${missing.map(({ unit }) => unit).join(' and ')}`;
  const why = 'nobody has started it since the driver is there';
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
