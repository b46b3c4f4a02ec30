import { keptImages, type ImageStatus, type ManagerStatus } from '../contract/status.ts';
import type { Facts } from '../facts/facts.ts';
import type { Checkup } from '../health/checkup.ts';
import type { Finding } from '../health/verdict.ts';

/** The manager looks every 30 s; what is older than this is no verdict. */
const staleMs = 5 * 60_000;

const provision = 'run `azp-fleet provision`';

/** What the facts alone show to be missing. While anything is, the manager's word adds nothing. */
export function hostFindings(facts: Facts): readonly Finding[] {
  const { gpus, driver, docker, toolkit, manager } = facts;
  if (manager.current === undefined) {
    return [
      fail('host.not-provisioned', 'the host has not been provisioned: there is no manager', provision),
    ];
  }
  const findings = [];
  if (gpus.length > 0 && driver.loaded === undefined) {
    findings.push(
      fail(
        'driver.not-loaded',
        'the NVIDIA kernel module is not loaded',
        `${provision}; see \`dkms status\` on the host`,
      ),
    );
  }
  if (!docker.active) {
    findings.push(
      fail('docker.down', 'the Docker Engine is not running', 'see `systemctl status docker` on the host'),
    );
  }
  if (gpus.length > 0 && toolkit.version === undefined) {
    findings.push(fail('toolkit.missing', 'nvidia-container-toolkit is not installed', provision));
  }
  if (manager.unitActive !== 'active' && manager.unitActive !== 'activating') {
    const next = 'see `journalctl -u azp-fleet-manager` on the host';
    findings.push(fail('manager.down', `the manager is ${manager.unitActive ?? 'not running'}`, next));
  }
  return findings;
}

/** What the manager says of itself and of the GPUs; a fresh probe replaces its look at the GPUs. */
export function managerFindings(
  status: ManagerStatus | undefined,
  probe: Checkup | undefined,
  now: number,
): readonly Finding[] {
  const fresh = status !== undefined && now - Date.parse(status.at) <= staleMs;
  if (!fresh) return [silent(status, now), ...(probe?.findings ?? [])];
  const health = status.health.findings;
  return [
    ...status.problems.map(({ code, what, next }) => fail(code, what, next)),
    ...keptImages(status).flatMap((image, _, all) => imageFindings(image, all.length > 1)),
    ...(probe === undefined
      ? health
      : [...probe.findings, ...health.filter(({ code }) => code.startsWith('xid.'))]),
  ];
}

function silent(status: ManagerStatus | undefined, now: number): Finding {
  const age = status === undefined ? undefined : Math.round((now - Date.parse(status.at)) / 60_000);
  const what =
    age === undefined ? 'the manager has not reported yet' : `the manager’s last report is ${age} min old`;
  return fail(
    'manager.silent',
    what,
    'see `systemctl status azp-fleet-manager` on the host, or look now with --probe',
  );
}

/** `named`: there are others. */
function imageFindings(image: ImageStatus, named: boolean): readonly Finding[] {
  const { state, cause, progress, reference } = image;
  if (state === 'ready') return [];
  const which = named && reference !== undefined ? `the agent image ${reference}` : 'the agent image';
  if (state === 'failed') {
    const next = 'see `azp-fleet image which HOST` and `journalctl -u azp-fleet-manager` on the host';
    return [fail('image.failed', `${which} could not be made: ${cause ?? 'no reason given'}`, next)];
  }
  const doing = { missing: 'is not there yet', pulling: 'is being pulled', building: 'is being built' }[
    state
  ];
  const what = `${which} ${doing}${progress === undefined ? '' : ` (${progress})`}`;
  return [{ code: 'image.not-ready', severity: 'warn', what, next: 'wait for it' }];
}

function fail(code: string, what: string, next: string): Finding {
  return { code, severity: 'fail', what, next };
}
