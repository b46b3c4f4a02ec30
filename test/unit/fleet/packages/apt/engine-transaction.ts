import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import { aptGetCall, database, updated, updating, completing } from './apt-host.ts';

const proxy = { http: 'http://proxy:3128', https: 'http://proxy:3129', noProxy: ['.lab', '10.0.0.0/8'] };
const printEnvironment =
  'echo "$http_proxy $https_proxy $no_proxy $DEBIAN_FRONTEND $LC_ALL $NEEDRESTART_SUSPEND $NEEDRESTART_MODE $APT_LISTCHANGES_FRONTEND"';
export const environment =
  'http://proxy:3128 http://proxy:3129 .lab,10.0.0.0/8 noninteractive C.UTF-8 1 l none\n';
export const engine = apt.install({
  vendor: 'docker',
  packages: [{ name: 'tool', version: { release: '2.0,1' } }, { name: 'extra' }],
  remove: ['old'],
  mayRemove: ['old-*'],
  proxy,
  before: printEnvironment,
  after: 'echo after',
});
export const unhold = 'apt-mark unhold tool old';
export const install = 'install --allow-downgrades tool=5:2.0,1-1 extra old-';
const hold = 'apt-mark hold tool extra';
export const simulated = aptGetCall(`-s ${install}`);
export const installCalls = [...updating, unhold, completing, simulated, aptGetCall(install), hold];
export const stdout = `${environment}apt did ${install.replace('--allow-downgrades ', '')}\nafter\n`;
export const result = { [database]: '644 tool 5:2.0,1-1 installed\nextra 9.9 installed\n' };
export const success = { stdout, calls: installCalls, files: { ...updated, ...result } };

/** Arguments of apt-get update that read the lists of one source only. */
export function only(vendor: string): string {
  return `-o Dir::Etc::SourceList=/etc/apt/sources.list.d/azp-fleet-${vendor}.sources -o Dir::Etc::SourceParts=- -o APT::Get::List-Cleanup=0`;
}
