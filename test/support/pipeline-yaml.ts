// What Azure Pipelines documents of azure-pipelines.yml, as far as ours use it, and no key more: the reference of the
// YAML schema (learn.microsoft.com/azure/devops/pipelines/yaml-schema), and of template expressions the loop `each`
// over a parameter of type object (learn.microsoft.com/azure/devops/pipelines/process/expressions).
import { parse } from 'yaml';
import { z } from 'zod';

const text = z.string().min(1);
/** Of a capability that is there, equals, or is at least that version. */
const demand = z.string().regex(/^\S+( -(equals|gtVersion) \S.*)?$/);

const step = z.union([
  z.strictObject({ checkout: z.enum(['self', 'none']) }),
  z.strictObject({ script: text, displayName: text.optional(), env: z.record(text, z.string()).optional() }),
]);

const job = z.strictObject({
  job: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/),
  displayName: text.optional(),
  timeoutInMinutes: z.int().min(0).optional(),
  pool: z.strictObject({ name: text, demands: z.array(demand).min(1) }),
  container: z
    .strictObject({ image: text, options: text.optional(), env: z.record(text, z.string()).optional() })
    .optional(),
  steps: z.array(step).min(1),
});

const pipeline = z.strictObject({
  trigger: z.array(text),
  parameters: z
    .array(
      z.strictObject({ name: text, type: z.literal('object'), default: z.array(z.record(text, z.string())) }),
    )
    .optional(),
  jobs: z.array(job).min(1),
});

export type Pipeline = z.infer<typeof pipeline>;

/** The pipeline as the service has it once its template expressions are gone; throws where something is not documented. */
export function readPipeline(source: string): Pipeline {
  const raw = parse(source, { strict: true }) as Record<string, unknown>;
  const { jobs, ...rest } = raw;
  const found = pipeline.parse({ ...rest, jobs: expanded(jobs, raw['parameters']) });
  const names = found.jobs.map((each) => each.job.toLowerCase());
  if (new Set(names).size < names.length) throw new Error(`two jobs of one name: ${names.join(', ')}`);
  return found;
}

function expanded(jobs: unknown, parameters: unknown): unknown {
  if (!Array.isArray(jobs)) return jobs;
  return jobs.flatMap((entry: Record<string, unknown>) => {
    const [key = ''] = Object.keys(entry);
    const loop = /^\$\{\{ each (\w+) in parameters\.(\w+) \}\}$/.exec(key);
    if (loop === null) return [entry];
    const [, variable = '', name] = loop;
    const list = (parameters as { name: string; default: Record<string, string>[] }[]).find(
      (each) => each.name === name,
    );
    if (list === undefined) throw new Error(`no parameter ${name ?? ''}`);
    return list.default.flatMap((values) => filled(entry[key], variable, values) as unknown[]);
  });
}

/** Replaces known expressions by their values; unknown expressions stay. */
function filled(value: unknown, variable: string, values: Readonly<Record<string, string>>): unknown {
  if (typeof value === 'string') {
    const text = value.replaceAll(/\$\{\{ (\w+)\.(\w+) \}\}/g, (whole, of: string, name: string) =>
      of === variable ? (values[name] ?? whole) : whole,
    );
    if (text.includes('${{')) throw new Error(`not understood: ${text}`);
    return text;
  }
  if (Array.isArray(value)) return value.map((item) => filled(item, variable, values));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, filled(item, variable, values)]),
  );
}
