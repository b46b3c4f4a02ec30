import { cdiMark } from '../../../../../src/fleet/facts/probes/ours.ts';
import { cdiScript, cdiUndoScript } from '../../../../../src/fleet/steps/toolkit/cdi.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';

const spec = 'cdiVersion: "0.5.0"\nkind: "nvidia.com/gpu"\n';
const withVideo = `${spec}  - /usr/lib/x86_64-linux-gnu/libnvidia-encode.so.580.95.05\n`;
const withGraphics = `${withVideo}  - /usr/lib/x86_64-linux-gnu/libEGL_nvidia.so.580.95.05\n`;
const service = 'nvidia-cdi-refresh.service';
const withService = [`systemctl cat ${service}`, `systemctl restart ${service}`];
const withoutService = [`systemctl cat ${service}`, 'nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml'];

/** Adds the refresh service of toolkit 1.18 and newer. */
function refreshes(host: ScratchHost, file: string, text = spec): void {
  host.folder(file.slice(0, file.lastIndexOf('/')));
  host.program('systemctl', `case $1 in cat) echo "[Unit]" ;; restart) printf %s '${text}' >${file} ;; esac`);
}

export const cdiSuite: ScriptSuite = {
  name: 'writing the CDI specification',
  given: (host) => {
    host
      .program('systemctl', 'echo "No files found for $2." >&2; exit 1')
      .program('journalctl', 'echo "the journal of $2"')
      .program('nvidia-ctk', `printf %s '${spec}' >"\${3#--output=}"`);
  },
  cases: [
    {
      name: 'an older toolkit writes it directly',
      script: cdiScript([]),
      run: { umask: '077' },
      after: {
        calls: withoutService,
        files: { '/etc/cdi': '755 /', '/etc/cdi/nvidia.yaml': `600 ${spec}${cdiMark}\n` },
      },
    },
    {
      name: 'removes our specification, and its folder if that is empty',
      script: cdiUndoScript({ made: ['/etc/cdi/nvidia.yaml'], aside: [] }),
      given: (host) => host.file('/etc/cdi/nvidia.yaml', cdiMark),
      after: { files: { '/etc/cdi': 'gone', '/etc/cdi/nvidia.yaml': 'gone' } },
    },
    {
      name: 'keeps the folder with a specification of others',
      script: cdiUndoScript({ made: ['/etc/cdi/nvidia.yaml'], aside: [] }),
      given: (host) => host.file('/etc/cdi/nvidia.yaml', cdiMark).file('/etc/cdi/fpga.yaml'),
      after: { files: { '/etc/cdi/nvidia.yaml': 'gone' } },
    },
    {
      name: 'restores files that were set aside, but never over another file',
      script: cdiUndoScript({ made: [], aside: ['/etc/cdi/nvidia.yaml', '/etc/cdi/site.json'] }),
      given: (host) =>
        host
          .file('/etc/cdi/nvidia.yaml.before-azp-fleet', 'by hand')
          .file('/etc/cdi/site.json.before-azp-fleet', 'old')
          .file('/etc/cdi/site.json', 'new'),
      after: {
        files: {
          '/etc/cdi/nvidia.yaml.before-azp-fleet': 'gone',
          '/etc/cdi/nvidia.yaml': '644 by hand',
        },
      },
    },
    {
      name: 'restores the second file, and not the first',
      script: cdiUndoScript({ made: [], aside: ['/etc/cdi/nvidia.yaml', '/etc/cdi/site.json'] }),
      given: (host) =>
        host
          .file('/etc/cdi/nvidia.yaml.before-azp-fleet', 'old')
          .file('/etc/cdi/nvidia.yaml', 'new')
          .file('/etc/cdi/site.json.before-azp-fleet', 'by hand'),
      after: {
        files: { '/etc/cdi/site.json.before-azp-fleet': 'gone', '/etc/cdi/site.json': '644 by hand' },
      },
    },
    {
      name: 'the refresh service writes the only specification, in /var/run/cdi',
      script: cdiScript([]),
      given: (host) => refreshes(host, '/var/run/cdi/nvidia.yaml'),
      after: { calls: withService, files: { '/var/run/cdi/nvidia.yaml': `644 ${spec}` } },
    },
    {
      name: 'accepts a specification in JSON',
      script: cdiScript([]),
      given: (host) => refreshes(host, '/var/run/cdi/nvidia.json'),
      after: { calls: withService, files: { '/var/run/cdi/nvidia.json': `644 ${spec}` } },
    },
    {
      name: 'accepts a specification of an administrator',
      script: cdiScript([]),
      given: (host) => refreshes(host, '/etc/cdi/site.json'),
      after: { calls: withService, files: { '/etc/cdi/site.json': `644 ${spec}` } },
    },
    {
      name: 'sets a manual file aside after the service has written its own',
      script: cdiScript(['/etc/cdi/nvidia.yaml', '/etc/cdi/site.json']),
      given: (host) => {
        refreshes(host, '/var/run/cdi/nvidia.yaml');
        host
          .file('/etc/cdi/nvidia.yaml', 'by hand: nvidia.com/gpu')
          .file('/etc/cdi/fpga.yaml', 'kind: intel.com/fpga');
      },
      after: {
        calls: withService,
        files: {
          '/var/run/cdi/nvidia.yaml': `644 ${spec}`,
          '/etc/cdi/nvidia.yaml': 'gone',
          '/etc/cdi/nvidia.yaml.before-azp-fleet': '644 by hand: nvidia.com/gpu',
        },
      },
    },
    {
      name: 'sets another manual file aside after the service has written JSON',
      script: cdiScript(['/etc/cdi/nvidia.yaml', '/etc/cdi/site.json']),
      given: (host) => {
        refreshes(host, '/var/run/cdi/nvidia.json');
        host.file('/etc/cdi/site.json', 'by hand');
      },
      after: {
        calls: withService,
        files: {
          '/var/run/cdi/nvidia.json': `644 ${spec}`,
          '/etc/cdi/site.json': 'gone',
          '/etc/cdi/site.json.before-azp-fleet': '644 by hand',
        },
      },
    },
    {
      name: "ignores the GPU operator's own specification",
      script: cdiScript(['/etc/cdi/nvidia.yaml']),
      given: (host) => {
        refreshes(host, '/run/nothing');
        host
          .file('/var/run/cdi/management.nvidia.com-gpu.yaml', 'kind: management.nvidia.com/gpu\n')
          .file('/etc/cdi/nvidia.yaml', 'by hand:\nkind: management.nvidia.com/gpu\n');
      },
      after: {
        code: 1,
        stderr: `failed: no CDI specification describes the GPUs
expected: nvidia.com/gpu in /var/run/cdi or /etc/cdi
seen: nothing
next: run nvidia-ctk cdi generate on the host and check its output
`,
        calls: withService,
        files: { '/run/nothing': `644 ${spec}` },
      },
    },
    {
      name: 'an older toolkit overwrites a manual file',
      script: cdiScript(['/etc/cdi/nvidia.yaml']),
      given: (host) => host.file('/etc/cdi/nvidia.yaml', 'by hand: nvidia.com/gpu'),
      after: { calls: withoutService, files: { '/etc/cdi/nvidia.yaml': `644 ${spec}${cdiMark}\n` } },
    },
    {
      name: 'an older toolkit overwrites the file with priority',
      script: cdiScript(['/etc/cdi/nvidia.yaml']),
      given: (host) =>
        host
          .file('/var/run/cdi/nvidia.yaml', 'by a unit: nvidia.com/gpu')
          .file('/etc/cdi/nvidia.yaml', 'by hand: nvidia.com/gpu'),
      after: {
        calls: [`systemctl cat ${service}`, 'nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml'],
        files: {
          '/var/run/cdi/nvidia.yaml': `644 ${spec}`,
          '/etc/cdi/nvidia.yaml': 'gone',
          '/etc/cdi/nvidia.yaml.before-azp-fleet': '644 by hand: nvidia.com/gpu',
        },
      },
    },
    ...[
      '/var/run/cdi/nvidia.yaml',
      '/var/run/cdi/nvidia.json',
      '/etc/cdi/site.yaml',
      '/etc/cdi/site.json',
    ].map((file) => ({
      name: `finds graphics and video in ${file}`,
      script: cdiScript([], ['graphics', 'video']),
      given: (host: ScratchHost) => refreshes(host, file, withGraphics),
      after: { calls: withService, files: { [file]: `644 ${withGraphics}` } },
    })),
    {
      name: 'reports a missing library in every run',
      script: cdiScript([], ['video', 'graphics']),
      given: (host) => {
        refreshes(host, '/var/run/cdi/nvidia.yaml', `${withVideo}libEGL_nvidia-so`);
        // Containers use neither of these files.
        host.file('/etc/cdi/nvidia.yaml', withGraphics).file('/var/run/cdi/other.json', 'libEGL_nvidia.so.0');
      },
      after: {
        code: 1,
        stderr: `failed: agents may use graphics, and the host has no graphics library that the CDI specification could contain
expected: libEGL_nvidia.so in it
seen: none
next: install the driver's libraries for graphics at its version, from the driver's repository (a .run file has them unless run with --no-opengl-files), or remove graphics from driverCapabilities, and run again
`,
        calls: withService,
        files: { '/var/run/cdi/nvidia.yaml': `644 ${withVideo}libEGL_nvidia-so` },
      },
    },
    {
      name: 'reports it for an older toolkit, too, in /etc',
      script: cdiScript([], ['video']),
      given: (host) => host.program('nvidia-ctk', `echo libnvidia-encode-so '${spec}' >"\${3#--output=}"`),
      after: {
        code: 1,
        stderr: `failed: agents may use video, and the host has no video library that the CDI specification could contain
expected: libnvidia-encode.so in it
seen: none
next: install the driver's libraries for video at its version, from the driver's repository (a .run file has them unless run with --no-opengl-files), or remove video from driverCapabilities, and run again
`,
        calls: withoutService,
        files: {
          '/etc/cdi': '755 /',
          '/etc/cdi/nvidia.yaml': `644 libnvidia-encode-so ${spec}\n${cdiMark}\n`,
        },
      },
    },
    {
      name: "the service's failure is reported with its journal",
      script: cdiScript([]),
      given: (host) => host.program('systemctl', '[ "$1" = cat ]'),
      after: {
        code: 1,
        stderr: `failed: writing the CDI specification failed
expected: nvidia-cdi-refresh.service succeeds
seen: the journal of nvidia-cdi-refresh.service
next: run nvidia-smi on the host
`,
        calls: [...withService, `journalctl -u ${service} -n 5 --no-pager -o cat`],
      },
    },
    {
      name: "nvidia-ctk's failure is reported",
      script: cdiScript([]),
      given: (host) => host.program('nvidia-ctk', 'echo "failed to get driver version" >&2; exit 1'),
      after: {
        code: 1,
        stderr: `failed to get driver version
failed: writing the CDI specification failed
expected: nvidia-ctk cdi generate succeeds
seen: the messages above
next: run nvidia-smi on the host
`,
        calls: withoutService,
        files: { '/etc/cdi': '755 /' },
      },
    },
    {
      name: 'ignores a specification of other devices',
      script: cdiScript([]),
      given: (host) => refreshes(host, '/var/run/cdi/other.yaml', 'kind: nvidiaXcom/gpu'),
      after: {
        code: 1,
        stderr: `failed: no CDI specification describes the GPUs
expected: nvidia.com/gpu in /var/run/cdi or /etc/cdi
seen: nothing
next: run nvidia-ctk cdi generate on the host and check its output
`,
        calls: withService,
        files: { '/var/run/cdi/other.yaml': '644 kind: nvidiaXcom/gpu' },
      },
    },
  ],
};
