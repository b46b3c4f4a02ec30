/** A damage that no run could show, and why. */
interface Equivalent {
  readonly why: string;
  /** The damaged line has this in it, … */
  readonly line: string | RegExp;
  /** … and it was damaged so, … */
  readonly kind?: string;
  /** … and then has this. */
  readonly after?: string | RegExp;
}

/** Variables that hold numbers alone. */
const numbers = 'preference|waited|pause|have|s|o|value|c|t0|t1|inode|code|uid|now|up|users|most|n|failed';
/** Variables, and arguments of functions, that hold names, ids, digests and versions of ours, or of a package manager. */
const names =
  '[12]|[@]|seen|from|to|h|mine|joined|kernel|service|compiler|name|pid|unit|pattern|vendor|gpu|id|e|supersedes|' +
  'kind|family|module|into|native|way|i|version|wanted|builder';

/** Dropped quotes around one of these. */
function unquoted(variables: string): Pick<Equivalent, 'line' | 'kind' | 'after'> {
  return {
    line: new RegExp(`"[^"]*\\$(?:\\{)?(?:${variables})(?!\\w)`),
    kind: 'quotes',
    after: new RegExp(`(?<!["\\w}/])\\$\\{?(?:${variables})(?!\\w)`),
  };
}

export const equivalents: readonly Equivalent[] = [
  {
    why: 'a list of commands that ends in && ends no script, either',
    line: /\|\| (?::|true)(?!\w)/,
    kind: 'operator',
    after: /&& (?::|true)(?!\w)/,
  },
  {
    why: 'the exit code is not read there',
    line: /reset-failed docker|journalctl -u docker|installed \/\/p|sha256sum|read -r pid|versionlock\.list 2>|mountinfo 2>|List-Cleanup=0 <|answer=\$\(apt_get|read -r (?:title|owner|code|version extent)|grep -xF -f held|append 2>|\| timeout 5 logger/,
    kind: 'rest',
  },
  {
    why: 'a pipe ends as its last command does, and sort does not fail',
    line: /nvidia-smi .* \| sort -u\) \|\| :$/,
    kind: 'rest',
    after: /sort -u\)$/,
  },
  {
    why: 'the exit code is not read there',
    line: /\^config-files \/\/p|\/proc\/self\/mountinfo/,
    kind: 'rest',
    after: /(?:config-files \/\/p'|2>\/dev\/null)$/,
  },
  {
    why: 'a failed apt-get ends the script all the same',
    line: /^ {4}apt_get "\$@" \|\| failed=/,
    kind: 'rest',
  },
  { why: 'a failed cd ends the script, because it runs with -e', line: /^cd .* \|\| exit$/, kind: 'rest' },
  {
    why: 'an argument, whose command may fail',
    line: '"$(systemctl is-active docker.service || :)"',
    kind: 'rest',
  },
  { why: 'it is a number', ...unquoted(numbers) },
  {
    why: "the version of NVIDIA's driver, which has no blank",
    line: /-v "\$version" -k|"\$seen" = "\$version"/,
    kind: 'quotes',
    after: / \$version /,
  },
  { why: 'it is a number, too', line: '[ "$left" -eq 0 ]', kind: 'quotes' },
  {
    why: 'a process id, or a count',
    line: /"\$\$"|"\$\?"|"\$\(id -u\)"|"\$\(id -u agent\)|"\$\{5:-\}"|SUDO_UID|\$\{last:-\}|\$\{file##/,
    kind: 'quotes',
  },
  { why: 'nothing, or one word', line: '[ -z "${shared:-}" ]', kind: 'quotes' },
  { why: 'it puts its words together, as echo does', line: "say 'socket ", kind: 'quotes' },
  { why: 'nothing in it splits: our own names, ids, digests and versions', ...unquoted(names) },
  { why: 'the name of a function', line: '"$again" "$@"', kind: 'quotes', after: '$again "$@"' },
  {
    why: 'nothing of this name is purged before that',
    line: /case " \$purged " in \*' (?:old|drv-\d+|vendor-drv|pin-\w+) '/,
    kind: 'quotes',
    after: 'case  $purged  in',
  },
  {
    why: 'nothing in it splits: words of apt, one at a time',
    line: /\$\{entry%%|\$\{release%%|\$\{pattern%%|SHA256:\$3/,
    kind: 'quotes',
  },
  {
    why: 'nothing splits in an assignment',
    line: /^(?:export )?(?:[A-Z_]+="\$\{?\w+[^"]*"\s*)+/,
    kind: 'quotes',
  },
  { why: "a build argument is in RUN's environment all the same", line: /^APT_MIRROR=/, kind: 'line' },
  {
    why: 'a shell gives no input to what it starts in the background',
    line: /<\/dev\/null .*&$/,
    kind: 'redirection',
    after: /reboot' >/,
  },
  { why: 'the names of three files of ours', line: 'if [ ! -r "$file" ]; then', kind: 'quotes' },
  { why: 'where a script begins, it has no arguments', line: /^set --$/, kind: 'line' },
  { why: 'a net below a script whose variables are all set', line: /^set -u$/, kind: 'line' },
  {
    why: 'the file is a new one in a new folder',
    line: />"\$(?:key|work\/source|folder\/node|notes\/code|trial\/package\.cpio|sources\/[\w.-]+|sources\/\$\{2##\*\/\}|f\.[abcd])"/,
    kind: 'redirection',
    after: '>>"$',
  },
  { why: 'one name that is offered: apt is asked once all the same', line: /^know [\w.-]+$/, kind: 'line' },
  { why: 'that function does nothing there', line: 'source_added file nvidia', kind: 'line' },
  { why: 'the path is written over at once', line: /^Signed-By: /, kind: 'path' },
  { why: 'mkdir -p accepts an existing folder', line: /^\[ -d /, kind: 'path' },
  { why: 'what is unpacked has been removed above', line: 'gzip -dc', kind: 'redirection' },
  {
    why: 'always a folder, or a link to one',
    line: /\/build"|\$version\/source"|runfile\/fetched \]/,
    kind: 'test',
    after: /\[ -d /,
  },
  {
    why: 'what is no folder has nothing in it',
    line: '[ -d "$folder" ] || continue',
    after: /^ *(?:\[ -d "\$folder" \])?$/,
  },
  { why: 'a bracket without an end is a plain character', line: "'['*) break ;;", kind: 'quotes' },
  {
    why: 'an equal one changes nothing',
    line: '[ "$size" -gt "$largest" ]',
    kind: 'operator',
    after: ' -ge ',
  },
  { why: 'they come in pairs', line: 's/^DeviceFileMinor: */mig /p', kind: 'number' },
  { why: 'three words, so the last blank is the second', line: '${release%% *}', kind: 'operator' },
  { why: 'a name has one colon at most', line: '${name%%:*}', kind: 'operator' },
  { why: 'a number has one point at most', line: 'up=${up%%.*}', kind: 'operator' },
  { why: 'a process id is shorter', line: 'head -c 20 "$d/lock.pid"', kind: 'number' },
  { why: 'no case is left for it, either', line: /^ {8}alive\) ;;$/, kind: 'line' },
  { why: 'await_state begins at 0, and to dash what is unset is 0', line: /^n=0$/ },
  { why: 'the file has been removed above', line: 'echo "$mark" >"$d/run"', kind: 'redirection' },
  { why: 'four words for each probe', line: /^ {2}while \[ "\$#" -gt 0 \]; do$/, kind: 'number' },
  { why: 'four passes, whatever their names', line: 'for pass in 1 2 3 4', kind: 'number' },
  { why: 'below the limit, too', line: '|| size=0', kind: 'number' },
  { why: 'its caller hides the words', line: 'size=$(stat -c %s "$log"', kind: 'redirection' },
  { why: 'the last part of a case needs none', line: /^\s*;;$/, kind: 'line' },
  { why: 'nothing in base64 splits', line: 'printf %s "$program"', kind: 'quotes', after: '%s $program' },
  { why: 'a pattern has one bracket at most', line: '${pattern%%[[]*}', kind: 'operator' },
  { why: 'no more loops than two', line: 'continue 2', kind: 'number', after: 'continue 3' },
  { why: 'command -v says nothing on stderr', line: /command -v \S+ >\/dev\/null 2>&1/, kind: 'redirection' },
  { why: 'root may write anywhere', line: '[ -w "$HOME/.config" ]' },
  {
    why: 'numbers that no caller reads: an order, a protocol, an exit code',
    line: /^\s*1\d{3} \w+ \d+ '|socket\(S, 1, 1, 0|exit \(found \? 0 : 1\)/,
    kind: 'number',
  },
  {
    why: 'a number of seconds',
    line: /^\s*(?:run "\$3" "\$4"|printf .*"\$3")/,
    kind: 'quotes',
    after: /(?<!")\$3/,
  },
  { why: 'any true value does', line: '{ newer = 1 }', kind: 'number', after: '{ newer = 2 }' },
  {
    why: 'any true value does',
    line: /older\[\$field\] = 1|found = 1|described = 1|held = 1|(?:known|follows) = 1/,
    kind: 'number',
  },
  { why: 'without a file it reads nothing', line: 'if [ "$#" -gt 0 ]; then', kind: 'operator' },
  { why: 'awk counts from 1, or from nothing', line: 'older[$field] = 1', kind: 'operator' },
  { why: 'programs of one word', line: '"/usr/bin/$tool"', kind: 'quotes', after: '/usr/bin/$tool;' },
  { why: 'every script that asks reads the lists first, which sets it', line: /^known=$/, kind: 'line' },
  { why: 'what guard has let pass passes again', line: /^ {4}return$/, kind: 'line' },
  { why: 'what is fetched removes no package', line: /^away=$/, kind: 'line' },
  { why: 'no known name is asked for before the next are known', line: /^ {2}known=$/, kind: 'line' },
  { why: 'no key is fetched beside it', line: /^wait$/, kind: 'line' },
  { why: 'nothing that fails follows', line: /^set -e$/, kind: 'line' },
  { why: 'it is empty, or one word', line: /\[ -z "\$(?:refused|\{shared:-\})" \]/, kind: 'quotes' },
  {
    why: 'every package has a name, and none without an architecture is matched',
    line: /name = foreign = (?:held = )?""/,
  },
  { why: 'written again before apt reads it', line: 'cp /var/lib/dpkg/status status', kind: 'line' },
  { why: 'no host has a folder of that name', line: "'/^[0-9]*:/p'", kind: 'quotes', after: ' /^[0-9]' },
  { why: 'the list was emptied before', line: 'printf without >', kind: 'redirection', after: '>>/run' },
  {
    why: 'a pause is no shorter than two seconds, or none',
    line: /\[ "\$(?:pause|waited|1)" -gt 0 \]/,
    kind: 'number',
  },
  { why: 'awk wrote the line again, without blanks before it', line: /^ {6}next$/, kind: 'line' },
  {
    why: 'the working folder is a new one, where nothing matches',
    line: /'--setopt=\*\.skip_if_unavailable=1' --setopt=timeout|versionlock list$|\{ of_any_branch '/,
    kind: 'quotes',
  },
  { why: 'it is set in the subshell of a transaction only', line: /^ {2}enabled=$/, kind: 'line' },
];
