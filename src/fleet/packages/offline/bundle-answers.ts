import type { Answer, Answers, Asked } from '../simulation.ts';

/** What a mirror would have to offer, a bundle would have to hold. `next`: how it is made again. */
export function ofTheBundle(answers: Answers, asked: readonly Asked[], next: string): Answers {
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
