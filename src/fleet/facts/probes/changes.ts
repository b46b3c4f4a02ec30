import { sh } from '../../../shared/base/shell.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import type { Facts } from '../facts.ts';
import { KeyedLines } from '../lines.ts';
import type { FactProbe } from '../probe.ts';

function changesScript(): string {
  return `${sh`for folder in ${HostPaths.changes}/*/; do`}
  [ -r "$folder/title" ] || continue
  folder=\${folder%/}
  id=\${folder##*/}
  title='' owner='' code=''
  read -r title <"$folder/title" || :
  if [ -r "$folder/owner" ]; then read -r owner <"$folder/owner" || :; fi
  if [ -r "$folder/code" ]; then
    read -r code <"$folder/code" || :
    echo "state $id done \${code:-1}"
  else
    case $(systemctl show -p SubState "azp-fleet-change-$id.service") in
      SubState=dead | SubState=failed | SubState=exited) echo "state $id dead" ;;
      *) echo "state $id running" ;;
    esac
  fi
  echo "title $title"
  echo "owner $owner"
done`;
}

/**
 * Reads durable changes of earlier runs: a folder each, with one-line files `title`, `owner`, and `code` once it has ended.
 * Without a code and a running unit the change was lost in a crash or reboot. Units that are stopping, or of unknown state, count
 * as running.
 */
export const changesProbe: FactProbe<Facts['changes']> = {
  name: 'changes',
  facts: ['changes'],
  byHand: sh`ls ${HostPaths.changes}`,
  script: changesScript,
  line: /^(state \S+ (done \d+|dead|running)$|(title|owner)( |$))/,
  parse: (output) => {
    const lines = new KeyedLines(output);
    return lines.all('state').map((line, index) => {
      const [id = '', state, code] = line.split(' ');
      return {
        id,
        title: lines.all('title')[index] ?? '',
        owner: lines.all('owner')[index] ?? '',
        state: state === 'running' || state === 'done' ? state : 'dead',
        code: code === undefined ? undefined : Number(code),
      };
    });
  },
};
