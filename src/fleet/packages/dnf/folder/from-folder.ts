import { Raw, sh } from '../../../../shared/base/shell.ts';
import { ofTheBundle } from '../../offline/bundle-answers.ts';
import { packagesFolder } from '../../offline/paths.ts';
import type { PackageManager } from '../../package-manager.ts';
import { holdScript, installScript } from '../install.ts';
import { dnfAnswers } from '../simulation/answers.ts';
import { simulateScript } from '../simulation/script.ts';
import { describeFunction, indexPath, noRepositories, withoutPlugins } from './flat.ts';

/**
 * Shell text: for as long as the script runs, dnf knows the folder and nothing else, and keeps its lists there, so that the
 * host's own sources are not asked and its own lists stay. A function has precedence over the program, wherever the
 * script calls it; what is installed, locked and logged is in the host's own places.
 */
const onlyTheFolder = sh`${new Raw(describeFunction)}
folder=${packagesFolder}
mkdir -p "$folder/sources"
if [ -e "$folder/${new Raw(indexPath)}" ]; then describe "$folder" "$folder/sources"; fi
dnf() {
  command dnf --setopt=reposdir="$folder/sources" --setopt=cachedir="$folder/cache" \
    ${new Raw(withoutPlugins)} "$@"
}
`;

/** A source that has nothing but what the index says. Quoted, the text is taken as it is; the packages themselves are not looked at. */
function onlyThese(index: string): string {
  return `${describeFunction}
mkdir -p index/repodata
cat >index/${indexPath} <<'END OF INDEX'
${index}
END OF INDEX
describe "$scratch/index" "$sources"`;
}

/** The host's own lists have not been read by it. */
const afterwards = '\nrm -f /run/azp-fleet/package-lists';

/** `manager` with the packages of the folder alone. `index`: what the folder has; `next`: what to do where that is not enough. */
export function fromFolder(manager: PackageManager, index: string, next: string): PackageManager {
  const none = noRepositories(next);
  return {
    ...manager,
    install: ({ vendor: _none, ...transaction }, bound) =>
      onlyTheFolder + installScript(transaction, bound, none) + afterwards,
    hold: (names, siblings) => onlyTheFolder + holdScript(names, siblings) + afterwards,
    simulator: {
      script: (question) => simulateScript({ ...question, missing: [] }, onlyThese(index), none),
      parse: (output, asked) => ofTheBundle(dnfAnswers(output, asked), asked, next),
    },
  };
}
