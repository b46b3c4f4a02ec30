import type { FleetEvent } from '../../../fleet/apply/events.ts';
import { alike, signature } from '../groups/alike.ts';
import { hostLabel } from '../groups/host-label.ts';

/** What is said beside the picture of the hosts. */
export type Remark = Extract<FleetEvent, { readonly kind: 'note' | 'problem' }>;

interface Told {
  readonly first: string;
  readonly others: { readonly host: string; readonly value: Remark }[];
}

/** Keeps back what one host has said already and another says again, so that it is told once more for all of them. */
export class Repeats {
  readonly #told = new Map<string, Told>();

  /** Whether it is to be told now. What has no host always is. */
  isNew(remark: Remark): boolean {
    const host = hostOf(remark);
    if (host === undefined) return true;
    const said = signature(host, withoutHost(remark));
    const before = this.#told.get(said);
    if (before === undefined) this.#told.set(said, { first: host, others: [] });
    if (before === undefined || before.first === host) return true;
    before.others.push({ host, value: withoutHost(remark) });
    return false;
  }

  /** What was kept back since the last call, and the names of its hosts where the remark only counts them. */
  rest(): readonly { readonly remark: Remark; readonly names?: string }[] {
    const kept = [...this.#told.values()].flatMap(({ others }) => others.splice(0));
    return alike(kept).map(({ hosts, value }) => {
      const { label, ...more } = hostLabel(hosts);
      return { remark: withHost(value, label), ...more };
    });
  }
}

function hostOf(remark: Remark): string | undefined {
  return remark.kind === 'note' ? remark.host : remark.problem.host;
}

function withoutHost(remark: Remark): Remark {
  if (remark.kind === 'note') return { kind: 'note', text: remark.text };
  const { host: _host, ...problem } = remark.problem;
  return { kind: 'problem', problem };
}

function withHost(remark: Remark, host: string): Remark {
  return remark.kind === 'note' ? { ...remark, host } : { ...remark, problem: { ...remark.problem, host } };
}
