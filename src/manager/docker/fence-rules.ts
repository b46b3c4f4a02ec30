import { agentBridge, fencePreferences as preferences } from '../../shared/contract/paths.ts';

/** Whose connections: those from the agents' containers, or those of a user on the host. */
export type Fenced = 'containers' | { readonly uid: number };

type Family = '-4' | '-6';

export interface FenceRule {
  readonly family: Family;
  /** Arguments for `ip rule add`. */
  readonly args: readonly string[];
}

/**
 * Where clouds hand out their machines' identities: all that is link-local (169.254.169.254 nearly everywhere, 169.254.170.2
 * and .23 for containers on AWS, 169.254.42.42 at Scaleway, 169.254.0.23 at Tencent), 168.63.129.16 (Azure's agent),
 * 100.100.100.200 (Alibaba), 192.0.0.192 (Oracle's older cloud); by IPv6 the block of AWS (fd00:ec2::254, ::23), Google,
 * Oracle, Scaleway, Akamai, Alibaba, and link-local OpenStack. As their own documentation and cloud-init have them.
 */
export const closedAddresses: Readonly<Record<Family, readonly string[]>> = {
  '-4': ['169.254.0.0/16', '168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32'],
  '-6': [
    'fd00:ec2::/32',
    'fd20:ce::254/128',
    'fd00:c1::a9fe:a9fe/128',
    'fd00:42::42/128',
    'fd00:a9fe:a9fe::1/128',
    'fd00:100::100:200/128',
    'fe80::a9fe:a9fe/128',
  ],
};

/**
 * Names go past the closed addresses: Azure (168.63.129.16), AWS (169.254.169.253, fd00:ec2::253), Google and Oracle
 * (169.254.169.254) answer DNS on them.
 *
 * Routing rules, not firewall rules: they survive a reload of whatever firewall the host has. In the order in which they are
 * put up: without its target a jump is none, and names would be closed, too. Pure.
 */
export function fenceRules(fenced: readonly Fenced[]): readonly FenceRule[] {
  return (['-4', '-6'] as const).flatMap((family) => [
    { family, args: ['pref', preferences.past, 'nop'] },
    ...fenced.flatMap((who) => [
      ...['udp', 'tcp'].map((protocol) =>
        rule(family, preferences.names, who, `ipproto ${protocol} dport 53 goto ${preferences.past}`),
      ),
      ...closedAddresses[family].map((address) =>
        rule(family, preferences.closed, who, `to ${address} prohibit`),
      ),
    ]),
  ]);
}

/** Those of the rules that `ip rule show` does not show yet. Pure. */
export function missingRules(
  rules: readonly FenceRule[],
  shown: Readonly<Record<Family, string>>,
): readonly FenceRule[] {
  const there = {
    '-4': new Set(shown['-4'].split('\n').map(shownRule)),
    '-6': new Set(shown['-6'].split('\n').map(shownRule)),
  };
  return rules.filter(({ family, args }) => !there[family].has(wantedRule(args)));
}

function rule(family: Family, preference: string, who: Fenced, what: string): FenceRule {
  const selector = who === 'containers' ? `iif ${agentBridge}` : `uidrange ${who.uid}-${who.uid}`;
  return { family, args: `pref ${preference} ${selector} ${what}`.split(' ') };
}

function wantedRule([, preference = '', ...words]: readonly string[]): string {
  return comparable(preference, words);
}

/**
 * `50:	from all to 169.254.169.254 iif azp-fleet0 [detached] ipproto tcp dport 80 prohibit`: a rule's parts in an order of
 * its own. The marks in brackets say that the bridge is away, or the target of a jump. One word more or less is another rule.
 */
function shownRule(line: string): string {
  const [preference = '', words = ''] = line.split(/:\s+(?:from all )?/, 2);
  return comparable(preference, words.trim().split(/\s+/));
}

function comparable(preference: string, words: readonly string[]): string {
  const said = words
    .filter((word) => !/^\[\w+\]$/.test(word))
    .map((word) => word.replace(/^([\d.]+)\/32$|^([\da-f:]+)\/128$/, '$1$2'));
  return [preference, ...said.toSorted()].join(' ');
}
