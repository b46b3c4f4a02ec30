import { probe } from './probe-case.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';

const curl =
  "curl -s -m 6 --unix-socket /run/docker.sock http://docker/info http://docker/containers/json 'http://docker/images/json?filters=%7B%22reference%22%3A%5B%22azp-fleet%2Fagent%22%5D%7D'";
const times = [
  "stat -c 'time %n %.9Y %.9Z' /run/docker.pid /etc/docker/daemon.json /usr/bin/nvidia-container-runtime-hook /usr/bin/nvidia-cdi-hook /usr/local/share/ca-certificates/azp-fleet-site.crt /etc/pki/ca-trust/source/anchors/azp-fleet-site.crt",
  "stat -c 'toolkit-time %.9Z' /usr/bin/nvidia-ctk",
];

const mig = '/practice/proc/driver/nvidia/capabilities/gpu0/mig';

export const dockerCases: readonly ScriptCase[] = [
  probe('docker', {
    name: 'a running engine, read with curl',
    given: (host) =>
      host
        .file('/run/docker.pid', '4242')
        .folder('/proc/4242')
        .program(
          'curl',
          `printf '{"ServerVersion":"29"}\\n[{"Id":"a"}]\\n[{"RepoTags":["azp-fleet/agent:1"]}]'`,
        )
        .file('/etc/systemd/system/multi-user.target.wants/docker.service')
        .program('stat', 'echo "time $3"; echo "cannot statx" >&2; exit 1'),
    after: {
      stdout: `active
info {"ServerVersion":"29"}
containers [{"Id":"a"}]
images [{"RepoTags":["azp-fleet/agent:1"]}]
enabled
time /run/docker.pid
time /usr/bin/nvidia-ctk
`,
      calls: [curl, ...times],
    },
  }),
  probe('docker', {
    name: 'a running engine, read with perl if curl is missing',
    given: async (host) => {
      host.file('/run/docker.pid', '4242').folder('/proc/4242').program('stat', 'exit 1', { silent: true });
      await host.beside(`exec perl -MIO::Socket::UNIX -e '
        $| = 1;
        my $server = IO::Socket::UNIX->new(Local => "/run/docker.sock", Listen => 5) or die;
        print "up\\n";
        while (my $client = $server->accept) {
          my $line = <$client>;
          my $body = $line =~ m{^GET /info HTTP/1.0} ? "{\\"a\\": 1}\\n" : $line =~ m{^GET /(containers|images)/json[ ?]} ? "[]\\n" : "no\\n";
          print $client "HTTP/1.0 200 OK\\r\\nA: b\\r\\n\\r\\n$body";
        }'`);
    },
    after: { stdout: 'active\ninfo {"a": 1}\ncontainers []\nimages []\n' },
  }),
  probe('docker', {
    name: 'a stale pid file',
    given: (host) =>
      host
        .file('/run/docker.pid', '4242\n')
        .program('curl', 'echo asked')
        .program('stat', 'exit 1', { silent: true }),
    after: {},
  }),
  probe('docker', {
    name: 'a stopped engine, which is not called: its socket would start it',
    run: { env: { pid: '4243' } },
    given: (host) =>
      host
        .folder('/proc/4243')
        .program('curl', 'echo asked')
        .program('stat', '[ "$2" = "cdi-time %.9Y" ] || { echo "cannot statx" >&2; exit 1; }')
        .file('/var/lib/snapd/snaps/docker_2915.snap')
        .file(
          '/var/run/cdi/nvidia.json',
          '"kind": "nvidia.com/gpu", "libcuda.so.580.95.05"\nlibcuda.so.570.1\n',
        )
        .file(
          '/etc/cdi/hand.yaml',
          'kind: nvidia.com/gpu\nlibcuda.so.560.35.03\nlibEGL_nvidia.so.560.35.03\n',
        )
        .file(
          '/var/run/cdi/more.json',
          '{"kind":"nvidia.com/gpu","a":"/usr/lib/libnvidia-encode.so.580.95.05 libEGL_nvidiaXso"}',
        )
        .file(
          '/var/run/cdi/more.yaml',
          "kind: 'nvidia.com/gpu'\nlibEGL_nvidia.so.580.95.05\nlibnvidia-encodeXso",
        )
        .file('/etc/cdi/other.yaml', 'kind: nvidiaXcom/gpu\nlibcuda.so.1.2\n')
        .file('/var/run/cdi/operator.yaml', 'kind: management.nvidia.com/gpu\nlibcuda.so.1.2\n')
        .file('/etc/cdi/plugin.json', '"kind": "k8s.device-plugin.nvidia.com/gpu",\nlibcuda.so.1.2\n'),
    after: {
      stdout:
        'snap\ncdi-run\ncdi-spec\ncdi-use graphics\ncdi-run\ncdi-spec\ncdi-use video\ncdi-run\ncdi-spec\ncdi-driver 580.95.05\ncdi-etc /etc/cdi/hand.yaml\n',
      calls: [
        ...times,
        ...['/var/run/cdi/more.yaml', '/var/run/cdi/more.json', '/var/run/cdi/nvidia.json'].map(
          (file) => `stat -c 'cdi-time %.9Y' ${file}`,
        ),
      ],
    },
  }),
  probe('docker', {
    name: 'an engine that does not answer',
    given: (host) =>
      host
        .file('/run/docker.pid', '4242\n')
        .folder('/proc/4242')
        .program('curl', 'exit 28')
        .program('stat', '[ "$2" = "cdi-time %.9Y" ] || { echo "cannot statx" >&2; exit 1; }')
        .folder('/snap/docker/current')
        .file(
          '/etc/cdi/a b.yaml',
          'kind: nvidia.com/gpu\nhostPath: /usr/lib/libcuda.so.1\npath: /dev/nvidia-caps/nvidia-cap13\npath: /dev/nvidia-caps/nvidia-cap12\npath: /dev/nvidia-caps/nvidia-cap13\n',
        )
        .file(`${mig}/gi1/access`, 'DeviceFileMinor: 12\nDeviceFileMode: 292\nDeviceFileModify: 1\n')
        .file(`${mig}/gi1/ci0/access`, 'DeviceFileMinor: 21\nDeviceFileMode: 292\n')
        .file(`${mig}/gi2/access`, 'DeviceFileMinor: 30\nDeviceFileMode: 292\n')
        .program('nvidia-ctk', 'exit 0', { silent: true })
        .file('/practice/proc/driver/nvidia/capabilities/mig/config', 'DeviceFileMinor: 1\n'),
    after: {
      stdout:
        'active\nsnap\ntoolkit-there\ncdi-etc /etc/cdi/a b.yaml\ncdi-spec\ncdi-mig 12\ncdi-mig 13\nmig 12\nmig 21\n',
      calls: [curl, ...times, "stat -c 'cdi-time %.9Y' '/etc/cdi/a b.yaml'"],
    },
  }),
];
