/** The connection to a host, and what runs over it. */
export const sshCodes = {
  'ssh.auth': [
    'the host accepted none of the offered keys and passwords',
    'add the key with `ssh-copy-id`, or set identityFile, loginPassword or transport: openssh',
  ],
  'ssh.change-died': [
    'the systemd unit of a change ended without an exit code: the host was rebooted, or the unit was killed',
    'check the output of the change on the host, then run the command again',
  ],
  'ssh.change-not-started': [
    'the systemd unit of a change could not be started; nothing of it has run',
    'fix what the host reports (full disk, systemd), then run the command again',
  ],
  'ssh.change-timeout': [
    'a change exceeded its time limit',
    'check the output of the change on the host, then run the command again',
  ],
  'ssh.change-unknown': [
    'systemd does not report whether a change runs; azp-fleet neither counts it as ended nor starts it again',
    'wait until systemd answers, then run the command again: it follows the change that runs',
  ],
  'ssh.config': ['a file of the SSH configuration is not valid', 'correct the file that is named'],
  'ssh.config-write': [
    'a file below ~/.ssh cannot be written, or was not written by azp-fleet',
    'fix what the message says, then run `azp-fleet ssh-config` again',
  ],
  'ssh.connection-lost': [
    'the connection ended before login, or during work',
    'run the same command again: it resumes. Before login: check MaxStartups and bans (fail2ban)',
  ],
  'ssh.dns': ['the name cannot be resolved', 'set address: in the inventory, or fix the DNS entry'],
  'ssh.handshake': ['client and host have no common algorithm', 'set transport: openssh for the host'],
  'ssh.host-certificate': [
    'the host presents a certificate, which the built-in client cannot check',
    'set transport: openssh for the host',
  ],
  'ssh.host-key-mismatch': [
    'the key of the host differs from the one in known_hosts or in the inventory',
    'compare the fingerprint at the console of the machine, then remove the old key',
  ],
  'ssh.host-key-revoked': ['the key of the host is marked @revoked', 'create a new host key on the machine'],
  'ssh.host-key-short': [
    'the RSA key of the host is shorter than RequiredRSASize',
    'create a longer or an Ed25519 host key on the machine',
  ],
  'ssh.host-key-unknown': [
    'the key of the host is not in known_hosts, and new keys are not accepted',
    'check the key and pin it with `azp-fleet trust HOST`',
  ],
  'ssh.jump': [
    'a jump host cannot connect to the host',
    'check AllowTcpForwarding and the network path from the jump host; end a chain with ProxyJump none or jump: none',
  ],
  'ssh.lock-failed': [
    'the lock on the host could not be taken',
    'check /run/azp-fleet, free space in /var/lib, and flock on the host',
  ],
  'ssh.lock-lost': [
    'this run lost its lock on the host and stopped there; another run may have started',
    'run the same command again: it resumes',
  ],
  'ssh.locked': [
    'another run works on the host',
    'wait until it ends; if it is certainly dead, add --break-lock',
  ],
  'ssh.no-openssh': ['the program ssh cannot be started', 'install the OpenSSH client'],
  'ssh.no-server': [
    'a server other than SSH answers at the address and port',
    'correct port: or address: of the host',
  ],
  'ssh.no-session': [
    'the host did not open a session for a command',
    'allow at least 3 sessions (MaxSessions), and check ForceCommand and nologin',
  ],
  'ssh.no-shell': [
    'the login ended before our script could run',
    'give the user a shell, and check ForceCommand',
  ],
  'ssh.no-sudo': ['the user is not root and the host has no sudo', 'log in as root, or install sudo'],
  'ssh.no-systemd': ['the host has no systemd-run', 'remove the host: systemd is required'],
  'ssh.not-in-sudoers': ['the user may not use sudo for a shell', 'give the user full sudo rights'],
  'ssh.output-too-long': [
    'the output of a script is too long',
    'limit its output, or write it to a file on the host',
  ],
  'ssh.pin': [
    'transport: openssh needs complete public keys under hostKeys',
    'collect them with `azp-fleet trust HOST`',
  ],
  'ssh.proxy-command': [
    'the ProxyCommand of the SSH configuration failed; the message quotes its output',
    'fix what it reports, or correct the command; run it yourself to see more',
  ],
  'ssh.refused': [
    'connection refused: no process listens at the address and port',
    'start sshd on the host, or correct address: and port: in the inventory',
  ],
  'ssh.script-timeout': ['a script exceeded its time limit', 'check load, file systems and GPUs of the host'],
  'ssh.silence-timeout': [
    'a script printed nothing for too long',
    'check load, file systems and GPUs of the host',
  ],
  'ssh.socket': ['a socket on the host cannot be reached', 'check that its service runs'],
  'ssh.start-timeout': ['a script did not start in time', 'check load, file systems and GPUs of the host'],
  'ssh.sudo-not-run': [
    'the host asks for a sudo password although sudo was not run; azp-fleet does not send it',
    'make sure that it is the machine that you mean',
  ],
  'ssh.sudo-password-needed': [
    'sudo asks for a password, and none is configured',
    'set sudoPassword: for the host, or NOPASSWD on the host',
  ],
  'ssh.sudo-tty': ['sudo requires a terminal (requiretty)', 'remove requiretty for this user'],
  'ssh.sudo-wrong-password': ['sudo rejected the password', 'correct sudoPassword: for the host'],
  'ssh.timeout': ['no answer within the time limit', 'check that the machine is up, firewalls and VPN'],
  'ssh.unreachable': ['no route to the address', 'check that the machine is up, firewalls and VPN'],
  'ssh.unsupported': [
    'the SSH configuration sets an option that the built-in client would ignore; no connection is made',
    'set transport: openssh for the host, or remove the option for it',
  ],
  'ssh.upload': [
    'an upload did not finish, or arrived damaged',
    'free space on the host, then run the command again',
  ],
} as const;
