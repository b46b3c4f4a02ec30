import { probe } from './probe-case.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';

const ask = (path: string) => `curl -sSf --unix-socket /run/docker.sock ${path}`;
const images = "'http://docker/images/json?filters=%7B%22reference%22%3A%5B%22azp-fleet%2Fagent%22%5D%7D'";
const paths = [
  ['docker-info', 'http://docker/info', '/info'],
  ['docker-containers', 'http://docker/containers/json', '/containers/json'],
  ['docker-images', images, images.slice(14, -1)],
] as const;

const times = (...specs: readonly string[]) => [
  [
    "stat -c 'time %.9Y %.9Z %n' /run/docker.pid /etc/docker/daemon.json /usr/bin/nvidia-container-runtime-hook /usr/bin/nvidia-cdi-hook /usr/local/share/ca-certificates/azp-fleet-site.crt /etc/pki/ca-trust/source/anchors/azp-fleet-site.crt /usr/bin/nvidia-ctk",
    ...specs,
  ].join(' '),
];

const mig = '/practice/proc/driver/nvidia/capabilities/gpu0/mig';

/** An engine that answers this path, with a status line. */
const perlEngine = (path: string, status: string) => `exec perl -MIO::Socket::UNIX -e '
  $| = 1;
  my $server = IO::Socket::UNIX->new(Local => "/run/docker.sock", Listen => 5) or die;
  print "up\\n";
  while (my $client = $server->accept) {
    my $line = <$client>;
    my $body = $line eq "GET ${path} HTTP/1.0\\r\\n" ? "{\\"a\\": 1}\\n" : "no\\n";
    print $client "HTTP/1.0 ${status}\\r\\nA: b\\r\\n\\r\\n$body";
  }'`;

export const dockerCases: readonly ScriptCase[] = [
  ...paths.flatMap(([name, url, path]) => [
    probe(name, {
      name: 'a running engine, read with curl if perl is missing',
      given: (host) =>
        host
          .file('/run/docker.pid', '4242')
          .folder('/proc/4242')
          .drop('/bin/perl')
          // An unquoted address would match this file.
          .file(`/root/${url.replaceAll("'", '').replace('?', 'x')}`)
          .program('curl', `printf '{"a":1}\\n'`),
      after: { stdout: '{"a":1}\n', calls: [ask(url)] },
    }),
    probe(name, {
      name: 'a running engine, read with perl',
      given: async (host) => {
        host.file('/run/docker.pid', '4242').folder('/proc/4242').program('curl', 'echo asked');
        await host.beside(perlEngine(path, '200 OK'));
      },
      after: { stdout: '{"a": 1}\n' },
    }),
    probe(name, {
      name: 'an engine that answers perl with an error status',
      given: async (host) => {
        host.file('/run/docker.pid', '4242').folder('/proc/4242');
        await host.beside(perlEngine(path, `500 ${'x'.repeat(80)}`));
      },
      after: { code: 255, stderr: `HTTP/1.0 500 ${'x'.repeat(67)}\n` },
    }),
    probe(name, {
      name: 'an engine without a socket',
      given: (host) => host.file('/run/docker.pid', '4242').folder('/proc/4242'),
      after: { code: 2, stderr: 'No such file or directory\n' },
    }),
    probe(name, {
      name: 'an engine that refuses curl',
      given: (host) =>
        host
          .file('/run/docker.pid', '4242\n')
          .folder('/proc/4242')
          .drop('/bin/perl')
          .program('curl', 'echo "curl: (22) the error 500" >&2; exit 22'),
      after: { code: 22, stderr: 'curl: (22) the error 500\n', calls: [ask(url)] },
    }),
    probe(name, {
      name: 'a stopped engine, which is not called: its socket would start it',
      run: { env: { pid: '4243' } },
      given: (host) => host.folder('/proc/4243').program('perl', 'echo asked'),
      after: {},
    }),
    probe(name, {
      name: 'a stale pid file',
      given: (host) => host.file('/run/docker.pid', '4242\n').program('perl', 'echo asked'),
      after: {},
    }),
  ]),
  probe('docker', {
    name: 'a running engine',
    given: (host) =>
      host
        .file('/run/docker.pid', '4242')
        .folder('/proc/4242')
        .file('/etc/systemd/system/multi-user.target.wants/docker.service')
        .program('stat', 'echo "time $3"; echo "cannot statx" >&2; exit 1'),
    after: {
      stdout: 'active\nenabled\ntime /run/docker.pid\n',
      calls: times(),
    },
  }),
  probe('docker', {
    name: 'a stale pid file',
    given: (host) => host.file('/run/docker.pid', '4242\n').program('stat', 'exit 1', { silent: true }),
    after: {},
  }),
  probe('docker', {
    name: 'specifications of a stopped engine',
    run: { env: { pid: '4243' } },
    given: (host) =>
      host
        .folder('/proc/4243')
        .program('stat', 'echo "cannot statx" >&2; exit 1')
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
      stdout: `snap
cdi-run
cdi-spec /var/run/cdi/more.yaml
cdi-use graphics
cdi-run
cdi-spec /var/run/cdi/more.json
cdi-use video
cdi-run
cdi-spec /var/run/cdi/nvidia.json
cdi-driver 580.95.05
cdi-etc /etc/cdi/hand.yaml
`,
      calls: times(
        '/var/run/cdi/more.yaml',
        '/var/run/cdi/operator.yaml',
        '/var/run/cdi/more.json',
        '/var/run/cdi/nvidia.json',
        '/etc/cdi/hand.yaml',
        '/etc/cdi/other.yaml',
        '/etc/cdi/plugin.json',
      ),
    },
  }),
  probe('docker', {
    name: 'a specification that cannot be read',
    given: (host) =>
      host
        .folder('/etc/cdi/a.json')
        .file('/etc/cdi/a.yaml')
        .program('stat', '')
        .program('awk', 'exit 2', { silent: true }),
    after: { code: 2, calls: times('/etc/cdi/a.yaml') },
  }),
  probe('docker', {
    name: 'a specification in /etc, and MIG instances',
    given: (host) =>
      host
        .file('/run/docker.pid', '4242\n')
        .folder('/proc/4242')
        .program('stat', 'echo "cannot statx" >&2; exit 1')
        .folder('/snap/docker/current')
        .file(
          '/etc/cdi/a b.yaml',
          'kind: nvidia.com/gpu\nhostPath: /usr/lib/libcuda.so.1\npath: /dev/nvidia-caps/nvidia-cap13, /dev/nvidia-caps/nvidia-cap12\npath: /dev/nvidia-caps/nvidia-cap13\n',
        )
        .file(`${mig}/gi1/access`, 'DeviceFileMinor: 12\nDeviceFileMode: 292\nDeviceFileModify: 1\n')
        .file(`${mig}/gi1/ci0/access`, 'DeviceFileMinor: 21\nDeviceFileMode: 292\n')
        .file(`${mig}/gi2/access`, 'DeviceFileMinor: 30\nDeviceFileMode: 292\n')
        .program('nvidia-ctk', 'exit 0', { silent: true })
        .file('/practice/proc/driver/nvidia/capabilities/mig/config', 'DeviceFileMinor: 1\n'),
    after: {
      stdout:
        'active\nsnap\ntoolkit-there\ncdi-etc /etc/cdi/a b.yaml\ncdi-spec /etc/cdi/a b.yaml\ncdi-mig 13\ncdi-mig 12\ncdi-mig 13\nmig 12\nmig 21\n',
      calls: times("'/etc/cdi/a b.yaml'"),
    },
  }),
];
