import { Raw, sh } from '../../../base/shell.ts';
import type { PackageManager } from '../../package-manager.ts';
import type { Answer, Answers, Asked } from '../../simulation.ts';
import { aptAnswers } from '../simulation/answers.ts';
import { simulateScript } from '../simulation/script.ts';
import { describeFunction, indexName } from '../flat.ts';
import { packagesFolder } from './paths.ts';

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

/** What a mirror would have to offer, a bundle would have to hold. */
function ofTheBundle(answers: Answers, asked: readonly Asked[], next: string): Answers {
  return Object.fromEntries(
    Object.entries(answers).map(([key, answer]) => [
      key,
      told(
        answer,
        asked.find((each) => each.key === key),
        next,
      ),
    ]),
  );
}

function told(answer: Answer, asked: Asked | undefined, next: string): Answer {
  if (answer.kind === 'impossible')
    return { ...answer, what: `the bundle does not do: ${answer.what}`, next };
  if (answer.kind !== 'not-offered') return answer;
  const [first] = asked?.transaction.packages ?? [];
  const version = first?.version ?? {};
  const wanted = 'release' in version ? version.release : 'branch' in version ? version.branch : '';
  const offered = answer.offered.length === 0 ? 'none' : answer.offered.slice(0, 8).join(', ');
  const what = `the bundle has no ${[first?.name, wanted].filter(Boolean).join(' ')}; it has ${offered}`;
  return { kind: 'impossible', what, next };
}
