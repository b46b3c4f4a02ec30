/** Prints a kernel message in a form: `second` is the time since the boot at 2026-11-27 21:04:14 UTC, below 60. */
type KernelForm = (message: string, second: number) => string;

const two = (value: number): string => String(value).padStart(2, '0');
const bracket = (second: number): string => `[${String(second).padStart(5)}.000001]`;
const clock = (second: number): string => `21:04:${two(second)}`;
/** Journald and dmesg of util-linux indent further lines of a message below its first. */
const printed =
  (prefix: (second: number) => string): KernelForm =>
  (message, second) => {
    const start = prefix(second);
    return `${start}${message.replaceAll('\n', `\n${' '.repeat(start.length)}`)}`;
  };
const journal = (time: (second: number) => string): KernelForm =>
  printed((second) => `${time(second)} h200-1 kernel: `);
/** Rsyslog escapes control characters. */
const ofRsyslog =
  (time: (second: number) => string): KernelForm =>
  (message, second) =>
    `${time(second)} h200-1 kernel: ${bracket(second)} ${message.replaceAll('\n', '#012')}`;

/**
 * The forms in which people save a kernel log. Those of dmesg are output of util-linux 2.38 for the same messages; those of
 * journalctl are after systemd 252, of rsyslog after its two file formats.
 */
export const kernelForms: Readonly<Record<string, KernelForm>> = {
  dmesg: printed((second) => `${bracket(second)} `),
  'dmesg -T': printed((second) => `[Fri Nov 27 ${clock(second)} 2026] `),
  'dmesg -x': printed((second) => `kern  :err   : ${bracket(second)} `),
  'dmesg -x -T': printed((second) => `kern  :info  : [Fri Nov 27 ${clock(second)} 2026] `),
  'dmesg -e': printed((second) => (second === 0 ? '[Nov27 21:04] ' : `[  +${second}.000001] `)),
  'dmesg -d': printed((second) => `${bracket(second).slice(0, -1)} <    0.000000>] `),
  'dmesg -r': printed((second) => `<3>${bracket(second)} `),
  'dmesg -t': (message) => message,
  'dmesg -x -t': printed(() => 'kern  :warn  : '),
  'dmesg --time-format iso': printed((second) => `2026-11-27T${clock(second)},000001+00:00 `),
  'dmesg --time-format delta': printed(() => '[<    0.000001>] '),
  'dmesg with colors': (message, second) => `\u001b[32m${bracket(second)} \u001b[0m${message}`,
  'dmesg with callers': printed((second) => `${bracket(second)} [ T4242] `),
  'dmesg of a kernel with callers': printed((second) => `${bracket(second)}[    C3] `),
  'dmesg -T in German': printed((second) => `[Fr Nov 27 ${clock(second)} 2026] `),
  'journalctl -k': journal((second) => `Nov 27 ${clock(second)}`),
  'journalctl -k --no-hostname': printed((second) => `Nov 27 ${clock(second)} kernel: `),
  'journalctl -o short-precise': journal((second) => `Nov 27 ${clock(second)}.000001`),
  'journalctl -o short-full': journal((second) => `Fri 2026-11-27 ${clock(second)} UTC`),
  'journalctl -o short-iso': journal((second) => `2026-11-27T${clock(second)}+0000`),
  'journalctl -o short-iso-precise': journal((second) => `2026-11-27T${clock(second)}.000001+00:00`),
  'journalctl -o short-monotonic': journal(bracket),
  'journalctl -o short-delta': journal((second) => `${bracket(second).slice(0, -1)} <    0.000001 >]`),
  'journalctl -o short-unix': journal((second) => `17958134${two(second)}.000001`),
  'journalctl -o with-unit': journal((second) => `Fri 2026-11-27 ${clock(second)} UTC`),
  'journalctl -o cat': (message) => message,
  syslog: ofRsyslog((second) => `Nov 27 ${clock(second)}`),
  'syslog with RFC 3339 times': ofRsyslog((second) => `2026-11-27T${clock(second)}.123456+00:00`),
};

const boot = [
  'Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14) 12.2.0) #1 SMP',
  'Command line: BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-amd64 root=UUID=1 ro quiet',
  'nvidia-nvlink: Nvlink Core is being initialized, major device number 235',
  'usb 1-1: new high-speed USB device number 2 using xhci_hcd',
];

/** A log since boot in this form, with these messages after those of every host. */
export function kernelLog(form: KernelForm, messages: readonly string[] = []): string {
  return [...boot, ...messages].map((message, second) => `${form(message, second)}\n`).join('');
}
