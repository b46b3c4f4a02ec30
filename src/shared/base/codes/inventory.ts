import type { Entries } from './entry.ts';

/** The inventory file. Each problem names file, line and column. */
export const inventoryCodes = {
  'inventory.agent-digest': ['an agent over plain http needs a digest', 'set agent.sha256, or use https'],
  'inventory.agent-name': ['two agents would have one name', 'put {host} and {slot} into agentName'],
  'inventory.agents-share': ['a host has more agents than GPUs', 'set share: true, or fewer agents'],
  'inventory.alias': [
    'an alias or anchor of YAML cannot be used as it stands',
    'correct it, or write it out',
  ],
  'inventory.builder': [
    'the host that builds an image does not have the same dockerfile:',
    'give both the same, in defaults or a group',
  ],
  'inventory.ca': ['the CA file cannot be read', 'correct ca:, or put the file there'],
  'inventory.credential': ['token and servicePrincipal are both given', 'take one of them out'],
  'inventory.dataset-path': ['two datasets have one path in the container', 'give each a path of its own'],
  'inventory.dataset-twice': ['one name stands for two folders', 'give each folder a name of its own'],
  'inventory.duplicate-key': ['a key stands twice', 'keep one of them'],
  'inventory.file': [
    'a file that the inventory names cannot be read',
    'correct the path, or put the file there',
  ],
  'inventory.group-cycle': ['groups contain each other', 'take one out of the other'],
  'inventory.host-registration': [
    'a slot with mode: host cannot register by config.sh',
    'use registration: rest, or mode: container',
  ],
  'inventory.image-twice': ['a host has an image and a dockerfile', 'take one of them out'],
  'inventory.import': [
    'hosts cannot be read from a file of another program',
    'have it written as docs/inventory.md tells',
  ],
  'inventory.invalid': ['the file has several mistakes, listed below it', 'correct each'],
  'inventory.key': ['a name cannot be used', 'write it as the message says'],
  'inventory.literal-secret': [
    'a token or key stands in the file itself',
    'revoke it if the file was shared, and point to where it is found',
  ],
  'inventory.missing': ['a key that is needed is missing', 'add it'],
  'inventory.name-twice': ['a group and a host have one name', 'rename one of them'],
  'inventory.no-hosts': ['there is no host', 'add one under hosts:'],
  'inventory.no-pool': ['a host has no pool', 'set pool: for it, its group or in defaults'],
  'inventory.nothing-selected': ['a pattern selects no host', 'see the names: azp-fleet inventory list'],
  'inventory.pool-pattern': ['the name of a pool cannot be made for a host', 'correct the pattern'],
  'inventory.reserved-variable': ['a variable has a meaning of its own in agents', 'choose another name'],
  'inventory.same-address': ['two hosts have one address', 'take one of the names out'],
  'inventory.secret': [
    'a secret is not where the inventory says, or others may read it',
    'put it there, with mode 0600 where it is a file',
  ],
  'inventory.slot-gpu': ['the GPUs of slots do not fit', 'name each GPU once, or set share: true'],
  'inventory.slot-name': ['two slots of a host have one name', 'give each a name of its own'],
  'inventory.token-expired': ['the credential has expired', 'make a new one, put it there, and provision'],
  'inventory.token-expires': ['the credential expires soon', 'make a new one, put it there, and provision'],
  'inventory.unknown-group': ['a group that is named is not there', 'correct the name, or add it'],
  'inventory.unknown-host': ['a host that is named is not there', 'correct the name, or add it'],
  'inventory.unknown-key': ['a key is not known', 'correct it: the message names the nearest one'],
  'inventory.unreadable': ['the file cannot be read', 'name it with -i FILE'],
  'inventory.value': ['a value cannot be used', 'write what the message expects'],
  'inventory.variable': ['a variable of the environment is not set', 'export it, or give a default'],
  'inventory.yaml': ['the file is not well-formed YAML', 'correct indentation, quotes or brackets there'],
} as const satisfies Entries;
