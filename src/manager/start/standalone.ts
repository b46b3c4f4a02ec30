import { organizationUrl } from '../../shared/azure/url.ts';
import { usageError } from '../../shared/base/errors.ts';
import { noControl } from '../../shared/base/foreign-text.ts';
import { builtImage } from '../../shared/contract/agent-release.ts';
import type { ManagerConfig, Dataset } from '../../shared/contract/config.ts';
import type { Values } from './arguments.ts';

/** The configuration of a machine that is run without an inventory. Pure. */
export function standaloneConfig(values: Values, hostname: string): ManagerConfig {
  const url = required(values.url, '--url');
  return {
    schema: 1,
    host: plain(values.name ?? hostname, '--name'),
    organization: organizationUrl(url),
    credential: { kind: 'pat' },
    pool: plain(required(values.pool, '--pool'), '--pool'),
    agents:
      values.agents === undefined
        ? { kind: 'one-per-gpu' }
        : { kind: 'count', count: count(values.agents, '--agents') },
    share: values.share ?? false,
    agentName: '{host}-{slot}',
    limits: {},
    driverCapabilities: ['compute', 'utility'],
    image:
      values.image === undefined ? builtImage(process.arch) : { kind: 'registry', reference: values.image },
    datasets: (values.volume ?? []).map(volume),
    jobs: { sudo: values.sudo ?? false, docker: false },
    registration: 'rest',
    capabilities: {},
    proxy: { noProxy: [], ca: false },
    metricsPort:
      values['metrics-port'] === undefined ? 0 : count(values['metrics-port'], '--metrics-port', 0),
  };
}

/** `HOST:CONTAINER:ENV`, as in `/data/imagenet:/datasets/imagenet:IMAGENET`. */
function volume(text: string): Dataset {
  const [host = '', container = '', name = '', ...rest] = text.split(':');
  const right = host.startsWith('/') && container.startsWith('/') && /^[A-Z_][A-Z0-9_]*$/i.test(name);
  if (right && rest.length === 0) return { name, host, container, requireMount: false };
  throw usageError({
    code: 'manager.usage',
    what: `--volume ${text} is not HOST:CONTAINER:ENV`,
    expected:
      'two absolute paths and the name of a variable, as in /data/imagenet:/datasets/imagenet:IMAGENET',
    seen: text,
  });
}

function required(value: string | undefined, name: string): string {
  if (value !== undefined && value !== '') return value;
  throw usageError({ code: 'manager.usage', what: `${name} is missing`, next: 'azp-fleet-manager --help' });
}

/** It becomes part of what the server is asked, and of the names that it shows. */
function plain(text: string, name: string): string {
  if (noControl.test(text)) return text;
  throw usageError({
    code: 'manager.usage',
    what: `${name} has a control character`,
    expected: 'a name without control characters',
    seen: JSON.stringify(text),
  });
}

function count(text: string, name: string, least = 1): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= 65_535) return value;
  throw usageError({
    code: 'manager.usage',
    what: `${name} must be a whole number from ${least} on`,
    seen: text,
  });
}
