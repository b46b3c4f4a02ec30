import { Raw, sh } from '../../../../shared/base/shell.ts';
import { ofTheBundle } from '../../offline/bundle-answers.ts';
import { packagesFolder } from '../../offline/paths.ts';
import type { PackageManager } from '../../package-manager.ts';
import { aptAnswers } from '../simulation/answers.ts';
import { simulateScript } from '../simulation/script.ts';
import { describeFunction, indexName } from '../flat.ts';

/**
 * Shell text: for as long as the script runs, apt knows the folder and nothing else, and keeps its lists there, so that the
 * host's own sources are not asked and its own lists stay. What lies in the folder was checked by the digests of the bundle,
 * and the index holds apt to the digest of every package: it is trusted as a script of ours is.
 */
const onlyTheFolder = sh`${new Raw(describeFunction)}
folder=${packagesFolder}
mkdir -p "$folder/lists/partial"
if [ -e "$folder/${new Raw(indexName)}" ]; then describe "$folder"; fi
echo "deb [trusted=yes] file:$folder ./" >"$folder/sources.list"
{
  if [ -e /etc/apt/apt.conf ]; then cat /etc/apt/apt.conf; fi
  cat <<END
Dir::Etc::SourceList "$folder/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$folder/lists";
Dir::Cache::PkgCache "";
Dir::Cache::SrcPkgCache "";
APT::Sandbox::User "root";
END
} >"$folder/last.conf"
cat >"$folder/apt.conf" <<END
Dir::Etc::Main "$folder/last.conf";
END
export APT_CONFIG="$folder/apt.conf"
`;

/** The host's own lists have not been read by it. */
const afterwards = '\nrm -f /run/azp-fleet/package-lists';

/** `manager` with the packages of the folder alone. `index`: what the folder has; `next`: what to do where that is not enough. */
export function fromFolder(manager: PackageManager, index: string, next: string): PackageManager {
  return {
    ...manager,
    install: ({ vendor: _none, ...transaction }, bound) =>
      onlyTheFolder + manager.install(transaction, bound) + afterwards,
    trust: {
      ...manager.trust,
      script: (caPem, proxy) => onlyTheFolder + manager.trust.script(caPem, proxy) + afterwards,
    },
    simulator: {
      script: (question) => simulateScript({ ...question, missing: [] }, index),
      parse: (output, asked) => ofTheBundle(aptAnswers(output, asked), asked, next),
    },
  };
}
