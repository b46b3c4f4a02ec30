import type { ScratchHost } from '../../../../support/scratch/host.ts';

/** A host with an engine that starts immediately. Its programs also print to stderr, which no script may show. */
export function engineHost(host: ScratchHost): void {
  host
    .program('systemctl', 'case $1 in reset-failed) echo "Unit $2 not loaded." >&2; exit 1 ;; esac')
    .program('journalctl', 'echo "No journal files were opened" >&2; echo "dockerd prints why"; exit 1')
    .program('docker', 'echo 29.7.2; echo "WARNING: no swap limit support" >&2')
    .program(
      'dockerd',
      'echo "a word" >&2; case $* in --help) echo "      --validate  try it" ;; *bad*) exit 1 ;; esac',
    );
}

/** Makes the engine fail in each possible way before it answers. */
export function answersLate(host: ScratchHost): void {
  host.program(
    'docker',
    `echo x >>/run/asked
case $(wc -l </run/asked) in
  1) echo 'is the daemon running?' >&2; exit 1 ;;
  2) echo 29; exit 1 ;;
  3) ;;
  *) echo 29.7.2 ;;
esac`,
  );
}

export const askEngine = "docker version --format '{{.Server.Version}}'";
export const lastLines = 'journalctl -u docker.service -n 15 --no-pager -o cat';

/** Returns the calls of a wait for the engine. */
export function wait(times: number): string[] {
  return Array.from({ length: times }, () => [askEngine, 'sleep 1']).flat();
}
