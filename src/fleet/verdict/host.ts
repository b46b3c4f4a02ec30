import type { Code } from '../../shared/base/codes/code.ts';
import type { Facts } from '../facts/facts.ts';
import type { Finding } from '../../shared/health/verdict.ts';

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
        `the NVIDIA kernel module is ${moduleState(facts)}`,
        `${provision}; see \`dkms status\` on the host`,
      ),
    );
  }
  if (!docker.active) {
    findings.push(
      fail('docker.down', 'the Docker Engine is not running', 'see `systemctl status docker` on the host'),
    );
  }
  if (gpus.length > 0 && toolkit.version === undefined && !toolkit.unpackaged) {
    findings.push(fail('toolkit.missing', 'nvidia-container-toolkit is not installed', provision));
  }
  if (manager.unitActive !== 'active' && manager.unitActive !== 'activating') {
    const next = 'see `journalctl -u azp-fleet-manager` on the host';
    findings.push(fail('manager.down', `the manager is ${manager.unitActive ?? 'not running'}`, next));
  }
  return findings;
}

/** One that is built and not loaded is the kernel's affair, another one that of DKMS. */
function moduleState({ kernels: [running] }: Facts): string {
  return running?.driver === true ? `built for Linux ${running.release}, and not loaded` : 'not loaded';
}

function fail(code: Code, what: string, next: string): Finding {
  return { code, severity: 'fail', what, next };
}
