import type { Entries } from './entry.ts';

/** The way to a host, and what runs over it. */
export const sshCodes = {
  'ssh.auth': [
    'the host accepted none of the keys and passwords that were offered',
    'put the key there with ssh-copy-id, or set identityFile, loginPassword or transport: openssh',
  ],
  'ssh.change-died': [
    'the unit of a change ended without an exit code: the host was rebooted, or the unit killed',
    'look at the output of the change on the host, then run the command again',
  ],
  'ssh.change-not-started': [
    'the unit of a change could not be made: nothing of it has run',
    'do what the words of the host say (a full disk, systemd), then run the command again',
  ],
  'ssh.change-timeout': [
    'a change did not end within its time limit',
    'look at the output of the change on the host, then run the command again',
  ],
  'ssh.change-unknown': [
    'systemd does not say whether a change runs; it is neither taken for ended nor started again',
    'wait until systemd answers, then run the command again: it follows what runs',
  ],
  'ssh.config': ['a file of the SSH configuration cannot be used', 'correct the file that is named'],
  'ssh.config-write': [
    'a file below ~/.ssh cannot be written, or is not ours to write',
    'do what the error says, then run azp-fleet ssh-config again',
  ],
  'ssh.connection-lost': [
    'the connection ended before login, or during work',
    'run the same command again: it starts from what the host is now; before login look at MaxStartups and at bans',
  ],
  'ssh.dns': ['the name cannot be resolved', 'give the host an address: in the inventory, or mend the name'],
  'ssh.handshake': ['no algorithm is common to both sides', 'set transport: openssh for the host'],
  'ssh.host-certificate': [
    'the host proves itself by a certificate, which the built-in client cannot check',
    'set transport: openssh for the host',
  ],
  'ssh.host-key-mismatch': [
    'the key of the host is not the one on file or in the inventory',
    'compare the fingerprint at the console of the machine, then remove the old key',
  ],
  'ssh.host-key-revoked': ['the key of the host is marked @revoked', 'make a new host key on the machine'],
  'ssh.host-key-unknown': [
    'the key of the host is not on file, and new ones are not accepted',
    'look at it and pin it: azp-fleet trust',
  ],
  'ssh.jump': [
    'a jump host does not lead to the host',
    'check AllowTcpForwarding and the way from there; end chains with ProxyJump none or jump: none',
  ],
  'ssh.lock-failed': [
    'the lock on the host could not be taken',
    'check /run/azp-fleet, room in /var/lib, and flock on the host',
  ],
  'ssh.lock-lost': [
    'this run has lost its lock on the host, somebody else may have come since, and it stopped there',
    'run the same command again: it starts from what the host is now',
  ],
  'ssh.locked': [
    'somebody else works on the host',
    'wait for them to finish; where that run is dead for certain, add --break-lock',
  ],
  'ssh.no-openssh': ['the program ssh cannot be started', 'install the OpenSSH client'],
  'ssh.no-server': [
    'something else than an SSH server answers there',
    'correct port: or address: of the host',
  ],
  'ssh.no-session': [
    'the host opened no session for a command',
    'allow at least 3 sessions (MaxSessions), and look at ForceCommand and nologin',
  ],
  'ssh.no-shell': [
    'the login ended before our script could run',
    'give the user a shell, and look at ForceCommand',
  ],
  'ssh.no-sudo': ['the user is not root and the host has no sudo', 'log in as root, or install sudo'],
  'ssh.no-systemd': ['the host has no systemd-run', 'leave the host out: systemd is needed'],
  'ssh.not-in-sudoers': ['the user may not use sudo for a shell', 'give the user full sudo rights'],
  'ssh.output-too-long': [
    'a script wrote more than is read',
    'limit its output, or write it to a file there',
  ],
  'ssh.pin': ['transport: openssh needs whole public keys under hostKeys', 'collect them: azp-fleet trust'],
  'ssh.proxy-command': [
    'the ProxyCommand of the SSH configuration failed, with the words that are shown',
    'do what they ask for, or correct the command; run it by hand to see more',
  ],
  'ssh.refused': [
    'nothing listens at the address and port',
    'start sshd there, or correct address: and port: in the inventory',
  ],
  'ssh.script-timeout': [
    'a script did not end in time',
    'look at load, file systems and the GPUs of the host',
  ],
  'ssh.silence-timeout': [
    'a script said nothing for too long',
    'look at load, file systems and the GPUs of the host',
  ],
  'ssh.socket': ['a socket of the host cannot be reached', 'check that its service runs'],
  'ssh.start-timeout': [
    'a script did not begin in time',
    'look at load, file systems and the GPUs of the host',
  ],
  'ssh.sudo-not-run': [
    'the host asks for the sudo password where sudo is not run; it gets none',
    'make sure that it is the machine that you mean',
  ],
  'ssh.sudo-password-needed': [
    'sudo asks for a password, and nobody can be asked',
    'set sudoPassword: for the host, or NOPASSWD there',
  ],
  'ssh.sudo-tty': ['sudo insists on a terminal (requiretty)', 'take requiretty out for this user'],
  'ssh.sudo-wrong-password': ['sudo refused the password', 'correct sudoPassword: for the host'],
  'ssh.timeout': ['no answer within the time limit', 'check that the machine is up, firewalls and VPN'],
  'ssh.unreachable': ['there is no way to the address', 'check that the machine is up, firewalls and VPN'],
  'ssh.upload': ['an upload did not finish, or arrived damaged', 'make room on the host, then run it again'],
} as const satisfies Entries;
