import type { Answered } from '../../shared/base/reading.ts';
import type { Facts, GatheredFacts } from '../facts/facts.ts';
import { UnreadFact, withoutUnread } from '../facts/unread.ts';
import { type Platform, platformOf } from '../packages/distribution.ts';
import type { Answers } from '../packages/simulation.ts';
import type { Transaction } from '../packages/transaction.ts';
import { compareVersions, upstream } from '../packages/version.ts';
import { flavorFor } from '../steps/driver/compatibility.ts';
import { askPackageManager, type Simulation } from '../steps/packages/refine.ts';
import type { Desired } from '../steps/step.ts';
import { isVendorStack, keepsVendorEngine } from '../steps/vendor-stack.ts';
import type { Offers, PartName } from './parts.ts';

/** No release begins with it: the package manager answers with those that it has. */
const none = '0';
/** Of one part; a list has every release of a vendor. */
const mostOffered = 100;

/** The transaction that asks for a part's releases, or why there is none. */
type Question = Transaction | { readonly why: string };
type Packaged = Extract<PartName, 'driver' | 'docker' | 'toolkit'>;

/**
 * Returns the question for the versions that a host's package manager offers, from the sources that the plan uses: with those of
 * vendors that the host lacks. Undefined: there is none. Pure.
 */
export function offersQuestion(
  gathered: GatheredFacts,
  desired: Desired,
  parts: readonly PartName[],
): Simulation | undefined {
  try {
    const facts = withoutUnread(gathered);
    const platform = platformOf(facts);
    if (platform === undefined || desired.included !== undefined) return undefined;
    const asked = packagedOf(parts).flatMap((part) => {
      const transaction = questions[part](facts, desired, platform);
      return 'why' in transaction ? [] : [{ key: part, transaction }];
    });
    return asked.length === 0 ? undefined : askPackageManager(asked, facts, desired, platform);
  } catch (error) {
    if (error instanceof UnreadFact) return undefined;
    throw error;
  }
}

/** Returns what is offered to a host, by the package manager's answers or by the bundle. Pure. */
export function packageOffers(
  gathered: GatheredFacts,
  desired: Desired,
  parts: readonly PartName[],
  answers: Answers,
): Offers {
  const offered = (part: Packaged): Answered<readonly string[]> => {
    try {
      const facts = withoutUnread(gathered);
      const platform = platformOf(facts);
      if (platform === undefined) return unknown(`${facts.os.pretty} on ${facts.arch} is not supported`);
      const question = questions[part](facts, desired, platform);
      if ('why' in question) return unknown(question.why);
      return desired.included === undefined
        ? offeredBy(answers[part])
        : inBundle(question, platform, desired.included);
    } catch (error) {
      if (error instanceof UnreadFact) return unknown(error.message);
      throw error;
    }
  };
  return Object.fromEntries(packagedOf(parts).map((part) => [part, offered(part)]));
}

function unknown(why: string): Answered<never> {
  return { kind: 'unknown', why };
}

function offeredBy(answer: Answers[string] | undefined): Answered<readonly string[]> {
  if (answer?.kind === 'not-offered') return { kind: 'value', value: answer.offered.slice(0, mostOffered) };
  if (answer?.kind === 'unknown') return answer;
  return unknown(answer?.kind === 'impossible' ? answer.what : 'the host gave no answer');
}

function inBundle(
  { packages: [first] }: Transaction,
  platform: Platform,
  included: NonNullable<Desired['included']>,
): Answered<readonly string[]> {
  const set = included.packages(platform);
  if (set === undefined) return unknown('the bundle has no packages for this system');
  const versions = platform.packages.offline
    .listed(set.index)
    .flatMap(({ name, version }) => (name === first?.name ? [upstream(version)] : []));
  const newestFirst = [...new Set(versions)].toSorted((one, other) => compareVersions(other, one));
  return { kind: 'value', value: newestFirst };
}

const noGpu = { why: 'the host has no NVIDIA GPU' };

const questions: Readonly<
  Record<Packaged, (facts: Facts, desired: Desired, platform: Platform) => Question>
> = {
  driver: (facts, { host, mirrors, proxy }, { names }) => {
    if (facts.gpus.length === 0) return noGpu;
    const spec = host.driver;
    if (spec.method === 'runfile') return { why: 'NVIDIA has no list of .run files: name the exact version' };
    const [name = ''] = names.driver.packages(spec, flavorFor(facts, spec), facts.nvswitches);
    const source =
      spec.method === 'distro' || isVendorStack(facts)
        ? ({ without: 'nvidia', before: names.driver.prepare(spec, { mirrors }) } as const)
        : ({ vendor: 'nvidia' } as const);
    const wanted = [{ name, version: { branch: none } }];
    return { ...source, ...asked(wanted, proxy), variants: names.driver.variants(spec) };
  },
  docker: (facts, { proxy }, { names: { engine } }) =>
    engine.kept === true
      ? asked([{ name: engine.own, version: { release: none } }], proxy)
      : {
          ...(keepsVendorEngine(facts) ? {} : { vendor: 'docker' as const }),
          ...asked([{ name: 'docker-ce', version: { release: none } }], proxy),
        },
  toolkit: (facts, { proxy }) =>
    facts.gpus.length === 0
      ? noGpu
      : {
          ...(isVendorStack(facts) ? {} : { vendor: 'nvidia-container-toolkit' as const }),
          ...asked([{ name: 'nvidia-container-toolkit', version: { release: none } }], proxy),
        },
};

function asked(packages: Transaction['packages'], proxy: Transaction['proxy']) {
  return { packages, remove: [], mayRemove: [], proxy };
}

function packagedOf(parts: readonly PartName[]): readonly Packaged[] {
  return parts.filter((part): part is Packaged => part in questions);
}
