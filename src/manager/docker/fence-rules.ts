/** Bridge of the agents' network on the host. */
export const agentBridge = 'azp-fleet0';

/** Whose connections: those from the agents' containers, or those of a user on the host. */
export type Fenced = 'containers' | { readonly uid: number };

export interface FenceRule {
  readonly family: '-4' | '-6';
  /** Arguments for `ip rule add`. */
  readonly args: readonly string[];
}

/**
 * Where clouds hand out their machines' identities, by plain HTTP: 169.254.169.254 (nearly all), 168.63.129.16
 * (Azure's agent), 100.100.100.200 (Alibaba), and by IPv6 fd00:ec2::254 (AWS) and fd20:ce::254 (Google). Nothing else
 * is closed there: Azure and Google answer names (port 53) on the same addresses.
 */
const metadata: readonly (readonly [family: FenceRule['family'], address: string, port: number])[] = [
  ['-4', '169.254.169.254/32', 80],
  ['-4', '168.63.129.16/32', 80],
  ['-4', '168.63.129.16/32', 32526],
  ['-4', '100.100.100.200/32', 80],
  ['-6', 'fd00:ec2::254/128', 80],
  ['-6', 'fd20:ce::254/128', 80],
];

/** Before the rules of VPNs and of hosts with several networks. */
const preference = '50';

/** Routing rules, not firewall rules: they survive a reload of whatever firewall the host has. Pure. */
export function fenceRules(fenced: readonly Fenced[]): readonly FenceRule[] {
  return fenced.flatMap((who) =>
    metadata.map(([family, address, port]) => ({
      family,
      args: `pref ${preference} ${selector(who)} to ${address} ipproto tcp dport ${port} prohibit`.split(' '),
    })),
  );
}

/** Those of the rules that `ip rule show` does not show yet. It prints a rule's parts in an order of its own. Pure. */
export function missingRules(
  rules: readonly FenceRule[],
  shown: Readonly<Record<FenceRule['family'], string>>,
): readonly FenceRule[] {
  return rules.filter(({ family, args }) => {
    const wanted = args.slice(2).map((word) => word.replace(/\/(?:32|128)$/, ''));
    return !shown[family].split('\n').some((line) => {
      const words = line.split(/\s+/);
      return line.startsWith(`${preference}:`) && wanted.every((word) => words.includes(word));
    });
  });
}

function selector(who: Fenced): string {
  return who === 'containers' ? `iif ${agentBridge}` : `uidrange ${who.uid}-${who.uid}`;
}
