import { invoke } from './az-rows.ts';

/** A command that fails, and what a person reads of it. */
export interface AzError {
  readonly line: string;
  readonly says: string;
  /** 1 unless given. */
  readonly code?: number;
  readonly token?: string;
}

export const azErrors: readonly AzError[] = [
  { line: 'pipelines pool show --id 99', says: 'ERROR: No agent pool found with identifier 99.' },
  { line: 'pipelines agent list --pool-id 99', says: 'ERROR: No agent pool found with identifier 99.' },
  {
    line: 'pipelines agent show --pool-id 1 --agent-id 99',
    says: 'ERROR: Agent with identifier 99 was not found.',
  },
  { line: 'pipelines queue show --id 99', says: 'ERROR: No agent queue found with identifier 99.' },
  {
    line: 'devops project show --project nowhere',
    says: 'ERROR: TF200016: The following project does not exist: nowhere. Verify that the name',
  },
  {
    line: 'devops project create --name vision',
    says: 'ERROR: TF200019: The following project already exists',
  },
  {
    line: 'pipelines pool list --pool-type hosted',
    says: "'hosted' is not a valid value for '--pool-type'",
    code: 2,
  },
  {
    line: 'pipelines pool list',
    says: "ERROR: TF400813: The user 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa' is not authorized",
    token: 'wrong',
  },
  {
    line: invoke('resourcelimits', '--api-version 5.0'),
    says: 'ERROR: The requested version "5.0" of the resource is under preview.',
  },
  { line: invoke('nothing', ''), says: 'ERROR: --resource and --api-version combination is not correct' },
  {
    line: `${invoke('agents', '--route-parameters poolId=2 --http-method POST --in-file')} <(echo '{"name":"a","version":"5.279.0"}')`,
    says: 'ERROR: Access denied.',
  },
  {
    line: `${invoke('pools', '--http-method POST --in-file')} <(echo '{"name":"Default"}')`,
    says: 'ERROR: Agent pool Default already exists.',
  },
  // Only one build at a time can be read, by its number.
  { line: 'pipelines runs list', says: 'ERROR: The request is invalid.' },
  { line: 'pipelines build list', says: 'ERROR: The request is invalid.' },
];

/** Commands for what is not there: pipelines and their runs, repositories, teams, users. */
export const notImitated: readonly string[] = [
  'pipelines list',
  'pipelines run --name training',
  'pipelines variable-group list',
  'repos list',
  'devops team list',
  'devops user list',
  'devops service-endpoint list',
];
