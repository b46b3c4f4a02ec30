/**
 * What becomes of a keyword of ssh_config(5) with the built-in client. `obeyed`: as in ssh. `irrelevant`: the connection
 * is the same with every value. `unused`: the keyword only adds a way to log in, which one line reports. `refused`: the
 * connection would ignore a restriction, so none is made.
 */
export type Outcome = 'obeyed' | 'irrelevant' | 'unused' | 'refused';

/** Keywords with the same outcome for the same reason. */
interface KeywordGroup {
  readonly outcome: Outcome;
  /** The reason, for docs/ssh.md. */
  readonly why: string;
  readonly keywords: readonly Keyword[];
}

interface Keyword {
  /** As ssh_config(5) spells it. */
  readonly name: string;
  /** First release of OpenSSH after 8.0 that has it, or the systems that add it. */
  readonly since?: string;
  /** Earlier names, which older releases print. */
  readonly former?: readonly string[];
}

const keyword = (name: string, since?: string, former?: readonly string[]): Keyword => ({
  name,
  ...(since === undefined ? {} : { since }),
  ...(former === undefined ? {} : { former }),
});
const all = (names: string): readonly Keyword[] => names.split(' ').map((name) => keyword(name));

const distributions = 'Debian, Red Hat';

/**
 * The keywords of ssh_config(5) of OpenSSH 8.0 to 10.5, and those that distributions add. Sources: ssh_config.5 and
 * readconf.c of each release.
 */
export const keywordGroups: readonly KeywordGroup[] = [
  {
    outcome: 'obeyed',
    why: 'by `ssh -G`',
    keywords: [
      ...all('Host Match Include IgnoreUnknown CanonicalDomains CanonicalizeFallbackLocal'),
      ...all('CanonicalizeHostname CanonicalizeMaxDots CanonicalizePermittedCNAMEs'),
      keyword('Tag', '9.4'),
      keyword('RefuseConnection', '10.1'),
    ],
  },
  {
    outcome: 'obeyed',
    why: 'the connection',
    keywords: all(
      'Hostname Port User ProxyJump ProxyCommand AddressFamily BindAddress ConnectTimeout ServerAliveInterval ServerAliveCountMax',
    ),
  },
  {
    outcome: 'obeyed',
    why: "the host's key",
    keywords: all(
      'StrictHostKeyChecking UserKnownHostsFile GlobalKnownHostsFile HostKeyAlias HashKnownHosts HostKeyAlgorithms',
    ),
  },
  {
    outcome: 'obeyed',
    why: 'algorithms that the built-in client has; none left is an error',
    keywords: all('Ciphers KexAlgorithms MACs'),
  },
  {
    outcome: 'obeyed',
    why: 'the login; `PubkeyAuthentication host-bound` is refused',
    keywords: [
      ...all('IdentityFile IdentitiesOnly IdentityAgent PubkeyAuthentication PasswordAuthentication'),
      keyword('KbdInteractiveAuthentication', undefined, ['ChallengeResponseAuthentication']),
      ...all('PreferredAuthentications NumberOfPasswordPrompts BatchMode'),
      keyword('PubkeyAcceptedAlgorithms', '8.5', ['PubkeyAcceptedKeyTypes']),
      keyword('RequiredRSASize', '9.1', ['RSAMinSize']),
    ],
  },
  {
    outcome: 'irrelevant',
    why: 'scripts run without a terminal, with a fixed environment, and with time limits',
    keywords: [
      ...all('LocalCommand PermitLocalCommand RemoteCommand RequestTTY EscapeChar SendEnv SetEnv'),
      keyword('SessionType', '8.7'),
      keyword('StdinNull', '8.7'),
      keyword('ForkAfterAuthentication', '8.7'),
      keyword('EnableEscapeCommandline', '9.2'),
      keyword('ObscureKeystrokeTiming', '9.5'),
      keyword('ChannelTimeout', '9.6'),
    ],
  },
  {
    outcome: 'irrelevant',
    why: 'no agent, port, display or network is forwarded',
    keywords: [
      ...all('ForwardAgent ForwardX11 ForwardX11Timeout ForwardX11Trusted XAuthLocation DynamicForward'),
      ...all('LocalForward RemoteForward GatewayPorts ExitOnForwardFailure ClearAllForwardings'),
      ...all('StreamLocalBindMask StreamLocalBindUnlink Tunnel TunnelDevice'),
      keyword('PermitRemoteOpen', '8.5'),
    ],
  },
  {
    outcome: 'irrelevant',
    why: 'each host gets a connection that is not shared',
    keywords: all('ControlMaster ControlPath ControlPersist'),
  },
  {
    outcome: 'irrelevant',
    why: 'speed and retries',
    keywords: all('Compression IPQoS TCPKeepAlive ConnectionAttempts'),
  },
  {
    outcome: 'irrelevant',
    why: 'messages',
    keywords: [
      ...all('LogLevel SyslogFacility FingerprintHash VisualHostKey'),
      keyword('LogVerbose', '8.5'),
      keyword('VersionAddendum', '10.0'),
      keyword('WarnWeakCrypto', '10.1'),
    ],
  },
  {
    outcome: 'irrelevant',
    why: 'certificates, host-based login and Kerberos are not used',
    keywords: [
      ...all('CASignatureAlgorithms EnableSSHKeysign GSSAPIDelegateCredentials'),
      keyword('HostbasedAcceptedAlgorithms', '8.5', ['HostbasedKeyTypes', 'HostbasedAlgorithms']),
      keyword('GSSAPIClientIdentity', distributions),
      keyword('GSSAPIKexAlgorithms', distributions),
      keyword('GSSAPIRenewalForcesRekey', distributions),
      keyword('GSSAPIServerIdentity', distributions),
      keyword('GSSAPITrustDns', distributions),
    ],
  },
  {
    outcome: 'irrelevant',
    why: 'only the key that the host shows is stored; `localhost` is checked as any host; no key is added to an agent',
    keywords: [
      ...all('UpdateHostKeys NoHostAuthenticationForLocalhost AddKeysToAgent'),
      keyword('UseKeychain', 'macOS'),
    ],
  },
  {
    outcome: 'unused',
    why: 'only add a way to log in',
    keywords: [
      ...all('CertificateFile PKCS11Provider GSSAPIAuthentication HostbasedAuthentication'),
      keyword('SecurityKeyProvider', '8.2'),
      keyword('GSSAPIKeyExchange', distributions),
    ],
  },
  {
    outcome: 'refused',
    why: "checks of the host's key",
    keywords: [...all('CheckHostIP RevokedHostKeys VerifyHostKeyDNS'), keyword('KnownHostsCommand', '8.5')],
  },
  {
    outcome: 'refused',
    why: 'how the connection and the login are made',
    keywords: all('BindInterface ProxyUseFdpass RekeyLimit KbdInteractiveDevices'),
  },
];

/** An option as `ssh -G` prints it: its keyword, and its outcome. */
interface KnownOption extends Keyword {
  readonly outcome: Outcome;
  /** False for an option that the table lacks. */
  readonly isListed: boolean;
}

const known: ReadonlyMap<string, KnownOption> = new Map(
  keywordGroups.flatMap(({ outcome, keywords }) =>
    keywords.flatMap((each) =>
      [each.name, ...(each.former ?? [])].map(
        (name) => [name.toLowerCase(), { ...each, outcome, isListed: true }] as const,
      ),
    ),
  ),
);

/** Returns the keyword of an option of `ssh -G`. An option that is not in the table is refused. */
export function keywordOf(option: string): KnownOption {
  return known.get(option.toLowerCase()) ?? { name: option, outcome: 'refused', isListed: false };
}
