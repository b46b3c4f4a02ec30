/** Arguments of a command, and ends of a run. */
export const usageCodes = {
  bug: ['a bug in azp-fleet', 'report it with the debug log'],
  'doctor.clock-off': [
    'the clock of this machine differs from that of Azure DevOps by more than 5 min',
    'run `timedatectl set-ntp true` on this machine',
  ],
  'doctor.no-space': [
    'this machine has too little free disk space for files that are sent to hosts',
    'free space, or set XDG_CACHE_HOME to a folder on another disk',
  ],
  'doctor.nothing-to-fix': [
    'provision does none of the next actions that doctor found',
    'do them by hand; a token that cannot be read comes first',
  ],
  'exec.output-file': [
    'the output of a command of more than 1 MiB does not fit on the disk of this machine',
    'free disk space in the folder of temporary files, or set TMPDIR to another folder',
  ],
  'exec.timeout': ['a command exceeded --timeout', 'run it again with a longer --timeout'],
  interrupted: ['the run was interrupted (Ctrl-C)', 'run the same command again: it resumes'],
  'init.exists': ['the file already exists', 'name another file with --output'],
  'init.write': ['the inventory cannot be written', 'choose a folder that you can write to'],
  'output.file': ['a file cannot be written', 'choose a folder that you can write to'],
  'setup.key': ['ssh-keygen failed to create a key', 'create a key with `ssh-keygen`'],
  'setup.no-room': [
    'the disk of Docker has too little free space for the agent image',
    'free space where Docker keeps its images',
  ],
  'setup.no-systemd': ['the machine has no systemd', 'use a machine that boots with systemd'],
  'setup.secret': ['a pasted secret cannot be saved', 'choose a folder that you can write to'],
  'setup.unsupported': ['the system is not supported', 'use a system listed in docs/systems.md'],
  'usage.answer': ['a supplied answer is not valid', 'correct it in its option or in the answers file'],
  'usage.arguments': ['the arguments are not valid', 'run `azp-fleet COMMAND --help`'],
  'usage.code': ['there is no such code', 'copy it from the brackets behind a message'],
  'usage.control': ['an argument contains a control character', 'type it again without it'],
  'usage.exec': [
    'exec has no command to run',
    'put the command after two dashes: `azp-fleet exec -- uptime`',
  ],
  'usage.file': ['a file cannot be read', 'correct its name'],
  'usage.host': ['an argument is not a host', 'write address, user@address:port or name=user@address:port'],
  'usage.host-not-gone': [
    '--gone names a host that is still in the inventory',
    'remove the host from the inventory first',
  ],
  'usage.import': [
    'import needs exactly one source',
    'use one of --ansible FILE, --terraform FILE and --ssh',
  ],
  'usage.job': [
    'the value of --job is no run of a pipeline in this organization',
    'copy the address of the run from the browser',
  ],
  'usage.mint': [
    '--mint cannot create or store a token for this inventory',
    'set token: { file: PATH }; or create the token in the browser, and run `azp-fleet token rotate` without --mint',
  ],
  'usage.no-answer': [
    'a question has no answer, and stdin is not a terminal',
    'give the answer in an option or in the answers file, or use a terminal',
  ],
  'usage.no-hosts': ['the options exclude every host', 'run without the option that excludes them'],
  'usage.no-terminal': ['stdin is not a terminal', 'use --yes, or run the command in a terminal'],
  'usage.only-harmless': [
    '--only-harmless has an option beside it that contradicts it, or --textfile has no --only-harmless',
    'omit one of the two options',
  ],
  'usage.option': ['the value of an option is not valid', 'write what the message expects'],
  'usage.pipeline-kind': [
    'no agent of the pool can run such a pipeline',
    'change the inventory as the message says, or use another --kind',
  ],
  'usage.pool': ['the pool is ambiguous', 'name one that `azp-fleet inventory list` shows'],
  'usage.practice': ['a variable of the practice server is not valid', 'unset it'],
  'usage.project-missing': ['no project is named', 'add --project NAME, or projects: to the inventory'],
  'usage.rerun': ['no earlier run has recorded failed hosts', 'run without --rerun'],
  'usage.shell': ['there is no completion for this shell', 'use bash, zsh or fish'],
  'usage.ssh': ['ssh needs exactly one host', 'name one; for many hosts use `azp-fleet exec`'],
  'usage.upgrade': [
    'upgrade cannot do that with these arguments',
    'name a part and its version, as the message says',
  ],
  'usage.target': ['the target is neither a host nor a slot', 'write HOST or HOST/SLOT'],
  'usage.two-inventories': ['the command line names two inventories', 'name one'],
} as const;
