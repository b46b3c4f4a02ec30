import { type KernelEvent, readKernelEvent } from '../../shared/health/kernel-events.ts';
import { readXidMessage, type XidEvent, xidKey } from '../../shared/health/xid.ts';

/** What a saved text holds of a kernel log. */
export interface KernelLogReading {
  /** The command that prints this form: `dmesg -T`, `journalctl -k -o short-unix`, `syslog`. */
  readonly form: string;
  /** Lines of the kernel that were read. */
  readonly lines: number;
  readonly xids: readonly XidEvent[];
  readonly events: readonly KernelEvent[];
  /** Lines with an XID that have another form, or two readings: a process name, or a log that was not read. */
  readonly unread: number;
}

/** Names of days and months are those of the language of whoever ran the command. */
const word = String.raw`[\p{L}.]{2,6}`;
const clock = String.raw`\d\d:\d\d:\d\d`;
const dateT = String.raw`\d{4}-\d\d-\d\dT${clock}`;
const seconds = String.raw`\d+\.\d{6}`;
/** The kernel prints the thread or processor of a message with CONFIG_PRINTK_CALLER, util-linux 2.41 always. */
const caller = String.raw`(?: ?\[ *[TC]\d+\])?`;
const level = String.raw`(?:<\d{1,3}>|kern  :[a-z]{3,6} *: )`;
const kernelTag = String.raw`(?:[\w.-]+ )?kernel: `;

interface Form {
  readonly name: string;
  readonly prefix: RegExp;
  /**
   * A second prefix that lines of this form may have before the message, and the form with it. A message may look the same,
   * so it counts only where most lines have it.
   */
  readonly inner?: { readonly name: string; readonly prefix: RegExp };
}

const dmesg = (name: string, time: string, inner?: string): Form => ({
  name: `dmesg${name}`,
  prefix: new RegExp(`^${level}?${time}${caller} `, 'u'),
  ...(inner === undefined
    ? {}
    : { inner: { name: `journalctl -k -o ${inner}`, prefix: new RegExp(`^${kernelTag}`, 'u') } }),
});
const journal = (name: string, time: string): Form => ({
  name: `journalctl -k${name}`,
  prefix: new RegExp(`^${time} ${kernelTag}`, 'u'),
  inner: { name: 'syslog', prefix: new RegExp(String.raw`^\[ *${seconds}\]${caller} `, 'u') },
});

/**
 * The prefixes of a line in each form, from its start: processes choose their names, and the kernel writes those into its
 * lines. Of dmesg of util-linux 2.38 by its own output; of journalctl by `output_short` of systemd 252; of rsyslog by its two
 * file formats. No two fit the same line.
 */
const forms: readonly Form[] = [
  dmesg('', String.raw`\[ *${seconds}\]`, 'short-monotonic'),
  dmesg(' -d', String.raw`\[(?: *${seconds} )?<[ *+\d.]{1,24}>\]`, 'short-delta'),
  dmesg(' -T', String.raw`\[${word} ${word} [ \d]\d ${clock} \d{4}(?: < *${seconds}>)?\]`),
  dmesg(' -e', String.raw`\[(?:${word}[ \d]\d \d\d:\d\d| *\+${seconds})\]`),
  dmesg(' --time-format iso', String.raw`${dateT},\d{6}[+-]\d\d:\d\d`),
  journal('', String.raw`${word} [ \d]\d ${clock}`),
  journal(' -o short-precise', String.raw`${word} [ \d]\d ${clock}\.\d{6}`),
  journal(' -o short-full', String.raw`${word} \d{4}-\d\d-\d\d ${clock}(?:\.\d{6})? [\w+:/-]+`),
  journal(' -o short-iso', String.raw`${dateT}(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)`),
  journal(' -o short-unix', String.raw`\d{9,11}\.\d{6}`),
];

/** What a line without a time may have before the message: `dmesg -x -t`, a file of printk's records. */
const levelOnly = new RegExp(`^${level}`, 'u');

/** Lines without a prefix (`dmesg -t`, `journalctl -o cat`) that the kernel writes and a letter does not. */
const known = new RegExp(
  `^(?:${[
    String.raw`Linux version \d+\.\d+\S* \(`,
    String.raw`(?:Kernel command|Command) line: \S*=`,
    'BIOS-provided physical RAM map:',
    String.raw`BIOS-e820: \[mem `,
    String.raw`NVRM: (?:Xid \(|GPU |loading |The NVIDIA )`,
    String.raw`nvidia(?:-\w+)?(?: \d{4}:[\da-f:.]+)?: `,
    String.raw`ACPI: [A-Z]{4} 0x`,
    String.raw`pci(?:_bus)? \d{4}:`,
    String.raw`usb \d+-[\d.]+: `,
    String.raw`EXT4-fs \(`,
    String.raw`audit: type=\d`,
  ].join('|')})`,
  'u',
);

const xidInside = /NVRM: (?:Xid \(|GPU .{0,40}fallen off the bus)/;

/** Events by key, the oldest of each. */
class Oldest<Event> {
  static readonly #most = 1000;
  readonly #groups = new Map<string, Event[]>();

  add(key: string, event: Event): void {
    const group = this.#groups.get(key) ?? [];
    if (group.length === Oldest.#most || (group.length === 0 && this.#groups.size === Oldest.#most)) return;
    group.push(event);
    this.#groups.set(key, group);
  }

  get all(): readonly Event[] {
    return [...this.#groups.values()].flat();
  }
}

/** The lines of one form. */
class Tally {
  readonly #xids = new Oldest<XidEvent>();
  readonly #events = new Oldest<KernelEvent>();
  lines = 0;

  take(message: string): void {
    this.lines += 1;
    const xid = readXidMessage(message);
    if (xid !== undefined) return this.#xids.add(xidKey(xid), xid);
    const event = readKernelEvent(message);
    if (event !== undefined) this.#events.add(`${event.code} ${event.on}`, event);
  }

  get xids(): readonly XidEvent[] {
    return this.#xids.all;
  }

  get events(): readonly KernelEvent[] {
    return this.#events.all;
  }
}

interface Counted {
  readonly form: Form;
  readonly plain: Tally;
  readonly inner: Tally;
}

/**
 * Reads a saved kernel log in any form in which people save one, line by line. For `diagnose` only: the manager reads plain
 * `dmesg` with `readXids`.
 */
export class KernelLog {
  /** The form of the line before comes first. */
  readonly #forms: Counted[] = forms.map((form) => ({
    form,
    plain: new Tally(),
    inner: new Tally(),
  }));
  readonly #bare = new Tally();
  #knownBare = 0;
  #strange = 0;

  take(line: string): void {
    const at = this.#forms.findIndex(({ form }) => form.prefix.test(line));
    const counted = this.#forms[at];
    if (counted === undefined) return this.#takeBare(line);
    if (at > 0) this.#forms.unshift(...this.#forms.splice(at, 1));
    const message = line.replace(counted.form.prefix, '');
    const inner = counted.form.inner?.prefix.exec(message)?.[0];
    if (inner === undefined) counted.plain.take(message);
    else counted.inner.take(message.slice(inner.length));
  }

  #takeBare(line: string): void {
    if (line.trim() === '') return;
    const message = line.replace(levelOnly, '');
    if (message !== line || known.test(line)) this.#knownBare += 1;
    if (xidInside.test(line)) this.#strange += 1;
    this.#bare.take(message);
  }

  /** Undefined: the text is no kernel log. */
  reading(): KernelLogReading | undefined {
    const counts = this.#forms.map(({ form, plain, inner }) => {
      const isInner = inner.lines > plain.lines;
      return {
        name: isInner ? (form.inner?.name ?? form.name) : form.name,
        lines: plain.lines + inner.lines,
        xids: isInner ? [...plain.xids, ...inner.xids] : plain.xids,
        events: isInner ? [...plain.events, ...inner.events] : plain.events,
        unread: isInner ? 0 : inner.xids.length,
      };
    });
    const prefixed = counts.reduce((sum, { lines }) => sum + lines, 0);
    if (prefixed === 0 && this.#knownBare === 0) return undefined;
    // Where most lines have no prefix, a line with one may be the second line of a process name.
    if (this.#knownBare > prefixed) {
      const unread = counts.reduce((sum, { xids, unread }) => sum + xids.length + unread, 0);
      const { lines, xids, events } = this.#bare;
      return { form: 'journalctl -k -o cat', lines, xids, events, unread };
    }
    const [main] = counts.toSorted((a, b) => b.lines - a.lines);
    return {
      form: main?.name ?? '',
      lines: prefixed,
      xids: counts.flatMap(({ xids }) => xids),
      events: counts.flatMap(({ events }) => events),
      unread: this.#strange + counts.reduce((sum, { unread }) => sum + unread, 0),
    };
  }
}
