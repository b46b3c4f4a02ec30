/** The inventory file. Each problem names file, line and column. */
export const inventoryCodes = {
  'inventory.agent-digest': [
    'the agent is downloaded over plain http, and no digest is configured',
    'set agent.sha256, or use https',
  ],
  'inventory.agent-name': ['two agents would have the same name', 'put {host} and {slot} into agentName'],
  'inventory.agents-share': ['a host has more agents than GPUs', 'set share: true, or use fewer agents'],
  'inventory.alias': ['a YAML alias or anchor is not valid here', 'correct it, or write the value out'],
  'inventory.builder': [
    'the host that builds an image does not have the same dockerfile:',
    'set the same dockerfile: for both, in defaults or a group',
  ],
  'inventory.ca': ['the CA file cannot be read', 'correct ca:, or create the file'],
  'inventory.commands-differ': [
    'the inventory has other commands, files or destinations of secrets than the other inventory',
    'review these values, and run the plan by hand',
  ],
  'inventory.credential': ['token and servicePrincipal are both set', 'remove one of them'],
  'inventory.dataset-path': [
    'two datasets have the same path in the container',
    'give each dataset a separate path',
  ],
  'inventory.dataset-twice': [
    'two datasets with different folders have the same name',
    'give each folder a separate name',
  ],
  'inventory.duplicate-key': ['duplicate key', 'keep one of the two'],
  'inventory.file': [
    'a file that the inventory names cannot be read',
    'correct the path, or create the file',
  ],
  'inventory.group-cycle': ['groups contain each other', 'remove one group from the other'],
  'inventory.host-registration': [
    'a slot with mode: host cannot register with config.sh',
    'use registration: rest, or mode: container',
  ],
  'inventory.identity': [
    'a setting does not work with the way in which the managers log in',
    'change one of the two, as the message says',
  ],
  'inventory.image-twice': ['a host has both an image and a dockerfile', 'remove one of them'],
  'inventory.import': [
    'no hosts can be read from a file of another program',
    'write the file as docs/inventory.md says',
  ],
  'inventory.invalid': [
    'the inventory has several mistakes, listed below the message',
    'correct each of them',
  ],
  'inventory.key': ['a name is not valid', 'write it as the message says'],
  'inventory.literal-secret': [
    'the inventory contains a token or key',
    'revoke it if the file was shared, and write where to find it: { env: NAME }, { file: … } or { cmd: … }',
  ],
  'inventory.missing': ['a required key is missing', 'add it'],
  'inventory.name-twice': ['a group and a host have the same name', 'rename one of them'],
  'inventory.no-hosts': ['the inventory has no hosts', 'add one under hosts:'],
  'inventory.no-pool': ['a host has no pool', 'set pool: for the host, its group or in defaults'],
  'inventory.nothing-selected': [
    'a pattern matches no host',
    'list the names with `azp-fleet inventory list`',
  ],
  'inventory.pool-pattern': ['the pattern of a pool name has no value for a host', 'correct the pattern'],
  'inventory.reserved-variable': ['a variable name is reserved for the agent', 'choose another name'],
  'inventory.same-address': ['two hosts have the same address', 'remove one of them'],
  'inventory.secret': [
    'a secret is missing, or other users can read its file',
    'put it where the inventory says, with mode 0600 for a file',
  ],
  'inventory.slot-gpu': [
    'slots name a GPU twice, or one that does not exist',
    'name each GPU once, or set share: true',
  ],
  'inventory.slot-name': ['two slots of a host have the same name', 'give each slot a separate name'],
  'inventory.token-expired': [
    'the token has expired',
    'create a new one, put it where the inventory says, and run `azp-fleet provision`',
  ],
  'inventory.token-expires': [
    'the token expires soon',
    'create a new one, put it where the inventory says, and run `azp-fleet provision`',
  ],
  'inventory.token-write': [
    'a new token cannot be stored in the file that the inventory names',
    'name a regular file in a folder that you may write to',
  ],
  'inventory.unknown-group': ['a group does not exist', 'correct the name, or add the group'],
  'inventory.unknown-host': ['a host does not exist', 'correct the name, or add the host'],
  'inventory.unknown-key': ['unknown key', 'correct it: the message names the nearest known key'],
  'inventory.unreadable': ['the inventory cannot be read', 'name the file with -i FILE'],
  'inventory.value': ['invalid value', 'write what the message expects'],
  'inventory.variable': ['an environment variable is not set', 'export it, or write a default'],
  'inventory.yaml': ['the file is not valid YAML', 'correct indentation, quotes or brackets at the caret'],
} as const;
