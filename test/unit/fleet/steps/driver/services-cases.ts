import { driverServices } from '../../../../../src/fleet/facts/probes/driver.ts';
import { loadScript } from '../../../../../src/fleet/steps/driver/module.ts';
import { enableServices, startScript } from '../../../../../src/fleet/steps/driver/services.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';

export const script = loadScript({ prefix: '' }, driverServices);
const enabling = enableServices(driverServices);
export const version = '/sys/module/nvidia/version';
export const loaded = { '/sys/module': '755 /', '/sys/module/nvidia': '755 /', [version]: '644 580.95.05\n' };
export const probe = 'modprobe -a nvidia nvidia_uvm';
const units = ['nvidia-persistenced.service', 'nvidia-fabricmanager.service'];
const unit = 'systemctl cat nvidia-persistenced.service';
export const present = units.map((unit) => `systemctl is-enabled ${unit}`);
export const checkCalls = [unit, ...present];
export const enable = [
  unit,
  ...units.flatMap((unit) => [`systemctl is-enabled ${unit}`, `systemctl enable -q ${unit}`]),
];
export const restart = units.flatMap((unit) => [`systemctl is-enabled ${unit}`, `systemctl restart ${unit}`]);
const dropIn = '/etc/systemd/system/nvidia-persistenced.service.d/azp-fleet.conf';
/** The unit in the package nvidia-compute-utils-580, with drop-ins of its owner and of ours if they exist. */
function ubuntuUnit(host: ScratchHost): ScratchHost {
  return (
    host
      .folder('/etc/systemd/system')
      // An unquoted section would be the name of such a file.
      .file('/root/e')
      .file('/root/n')
      .file(
        '/run/unit',
        `[Unit]
Description=NVIDIA Persistence Daemon
StopWhenUnneeded=true
[Service]
Type=forking
ExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced --no-persistence-mode --verbose
ExecStopPost=/bin/rm -rf /var/run/nvidia-persistenced
`,
      )
      .program(
        'systemctl',
        `case $* in
  'cat nvidia-persistenced.service') cat /run/unit /run/owner.conf ${dropIn} 2>/dev/null || : ;;
  'is-enabled nvidia-persistenced.service') echo static ;;
  cat* | is-enabled*) exit 1 ;;
esac`,
      )
  );
}
const persistent = `# Written by azp-fleet: GPUs stay initialised between containers.
[Unit]
StopWhenUnneeded=false

[Service]
ExecStart=
ExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced --verbose

[Install]
WantedBy=multi-user.target
`;
/** systemd with these units, which are disabled: `is-enabled` exits with 1. */
export const disabled = `case $1 in cat) echo "[Unit]" ;; is-enabled) echo disabled; echo "a warning" >&2; exit 1 ;;`;
export const load = ['uname -r', probe];

/** The driver's daemons after an installation or a load. */
export const serviceCases: readonly ScriptCase[] = [
  {
    name: 'enables services without starting them',
    script: enabling,
    given: (host) =>
      host.program(
        'systemctl',
        `[ "$2" != nvidia-fabricmanager.service ] || { [ "$1" != is-enabled ] || echo not-found; exit 4; }; ${disabled} esac`,
      ),
    after: { calls: [...enable.slice(0, 3), present[1]] as string[] },
  },
  {
    name: 'skips missing units in newer releases of systemd',
    script,
    given: (host) =>
      host.program(
        'systemctl',
        'case $1 in is-enabled) echo not-found; exit 4 ;; cat) exit 1 ;; *) echo "Unit $2 not found." >&2; exit 5 ;; esac',
      ),
    after: { calls: [...checkCalls, ...load, ...present], files: loaded },
  },
  {
    name: 'reports a fabric manager that does not start, and continues',
    script,
    given: (host) =>
      host.program('systemctl', `${disabled} restart) [ "$2" != nvidia-fabricmanager.service ] ;; esac`),
    after: {
      stdout: 'nvidia-fabricmanager.service does not start\n',
      calls: [...enable, ...load, ...restart],
      files: loaded,
    },
  },
  ...['masked', 'masked-runtime'].map((word) => ({
    name: `continues with a daemon that its owner has ${word}`,
    script,
    given: (host: ScratchHost) =>
      host.program(
        'systemctl',
        `case "$1 $2" in
  'cat nvidia-persistenced.service') echo "# Unit nvidia-persistenced.service is masked." ;;
  'is-enabled nvidia-persistenced.service') echo ${word}; exit 1 ;;
  'is-enabled nvidia-fabricmanager.service') echo disabled; exit 1 ;;
  'enable -q') if [ "$3" = nvidia-persistenced.service ]; then echo "Failed to enable unit: Unit file $3 is masked." >&2; exit 1; fi ;;
esac`,
      ),
    after: {
      calls: [
        ...checkCalls,
        'systemctl enable -q nvidia-fabricmanager.service',
        ...load,
        ...present,
        'systemctl restart nvidia-fabricmanager.service',
      ],
      files: loaded,
    },
  })),
  {
    name: 'skips units that the owner disabled',
    script: loadScript({ prefix: '' }, ['nvidia-fabricmanager.service']),
    given: (host) => host.program('systemctl', `${disabled} esac`),
    after: { calls: [...enable.slice(3), ...load, ...restart.slice(2)], files: loaded },
  },
  {
    name: 'calls no systemctl if all units are disabled',
    script: loadScript({ prefix: '' }, []),
    after: { calls: load, files: loaded },
  },
  {
    name: "adds persistence mode and a start at boot to Ubuntu's daemon",
    script: enabling,
    given: ubuntuUnit,
    after: {
      calls: [unit, 'systemctl daemon-reload', ...enable.slice(1, 3), present[1]] as string[],
      files: {
        '/etc/systemd/system/nvidia-persistenced.service.d': '755 /',
        [dropIn]: `644 ${persistent}`,
      },
    },
  },
  {
    name: 'leaves an existing drop-in unchanged',
    script: enabling,
    given: (host) => ubuntuUnit(host).file(dropIn, persistent),
    after: { calls: [unit, ...enable.slice(1, 3), present[1]] as string[] },
  },
  {
    name: 'replaces a drop-in if the options of the package or of its owner changed',
    script,
    given: (host) =>
      ubuntuUnit(host)
        .file('/run/owner.conf', `[Service]\nExecStart=\nExecStart=/owned --no-persistence-mode --debug\n`)
        .file(`${dropIn}.new`, 'cut off, and longer than the new text'.repeat(20))
        .file(dropIn, persistent),
    after: {
      calls: [
        unit,
        'systemctl daemon-reload',
        ...enable.slice(1, 3),
        present[1],
        ...load,
        ...restart.slice(0, 2),
        present[1],
      ] as string[],
      files: {
        ...loaded,
        [dropIn]: `644 ${persistent.replace(/(?<=ExecStart=).+/, '/owned --debug')}`,
        [`${dropIn}.new`]: 'gone',
      },
    },
  },
  {
    name: 'starts services separately, and reports each failure',
    script: startScript(units),
    given: (host) => host.program('systemctl', '[ "$1" != restart ]'),
    after: {
      stdout: 'nvidia-persistenced.service does not start\nnvidia-fabricmanager.service does not start\n',
      calls: units.flatMap((unit) => [`systemctl enable -q ${unit}`, `systemctl restart ${unit}`]),
    },
  },
];
