// The published contract as schemas that forbid what it does not name. Its source: test/fixtures/azure/README.md.
import { readFileSync } from 'node:fs';
import { Ajv, type AnySchemaObject } from 'ajv';
import addFormats from 'ajv-formats';
import { differences, type Difference } from './contract-differences.ts';

interface Operation {
  readonly method: string;
  /** `/{organization}/_apis/…`. */
  readonly path: string;
  readonly apiVersion: string;
  readonly query: readonly {
    readonly name: string;
    readonly required: boolean;
    readonly enum?: readonly string[];
  }[];
  readonly body: AnySchemaObject | null;
  readonly response: AnySchemaObject | null;
}

type Definition = AnySchemaObject & {
  readonly properties?: Readonly<Record<string, AnySchemaObject>>;
  readonly allOf?: readonly { readonly $ref: string }[];
};

const contract = JSON.parse(readFileSync('test/fixtures/azure/contract.json', 'utf8')) as {
  readonly operations: readonly Operation[];
  readonly definitions: Readonly<Record<string, Definition>>;
};

export const operations = contract.operations;

const nameOf = ($ref: string) => $ref.replace('#/definitions/', '');

/** The members of a definition, with those that it inherits. */
function membersOf(name: string): Record<string, AnySchemaObject> {
  const { properties = {}, allOf = [] } = contract.definitions[name] ?? {};
  return Object.assign({}, ...allOf.map(({ $ref }) => membersOf(nameOf($ref))), properties);
}

/** Objects have no other members than the contract names, but for the differences that are listed. */
function strict(name: string, definition: Definition, known: readonly Difference[]): AnySchemaObject {
  const members = membersOf(name);
  const { allOf: _, ...rest } = definition;
  const own = known.filter((each) => each.definition === name || inherits(name, each.definition));
  for (const { member, schema } of own) if (member !== '*') members[member] = schema;
  const whole = own.find(({ member }) => member === '*');
  if (whole !== undefined) return whole.schema;
  return Object.keys(members).length === 0
    ? rest
    : { ...rest, properties: members, additionalProperties: false };
}

function inherits(name: string, ancestor: string): boolean {
  const { allOf = [] } = contract.definitions[name] ?? {};
  return allOf.some(({ $ref }) => nameOf($ref) === ancestor || inherits(nameOf($ref), ancestor));
}

function ajvWith(known: readonly Difference[]): Ajv {
  const ajv = new Ajv({ allErrors: true, strict: false });
  addFormats.default(ajv);
  for (const format of ['JTokenType', 'JContainer']) ajv.addFormat(format, true);
  const definitions = Object.entries(contract.definitions).map(([name, definition]) => [
    name,
    strict(name, definition, known),
  ]);
  ajv.addSchema({ $id: 'contract', definitions: Object.fromEntries(definitions) });
  return ajv;
}

const whole = ajvWith(differences);

/** The contract as it would be without one of the differences. */
export const contractWithout = (difference: Difference): Ajv =>
  ajvWith(differences.filter((each) => each !== difference));

/** What of a value is against the contract, each with its place. */
export function against(schema: AnySchemaObject, value: unknown, ajv = whole): string[] {
  const text = JSON.stringify(schema).replaceAll('"#/definitions/', '"contract#/definitions/');
  const validate = ajv.compile(JSON.parse(text) as AnySchemaObject);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

/** A schema of the contract by its name. */
export const ofDefinition = (name: string): AnySchemaObject => ({ $ref: `#/definitions/${name}` });

/** Lists come as `{count, value}`; the contract has them bare. */
export function asAnswered(schema: AnySchemaObject): AnySchemaObject {
  if (schema['type'] !== 'array') return schema;
  return {
    type: 'object',
    properties: { count: { type: 'integer' }, value: schema },
    required: ['count', 'value'],
    additionalProperties: false,
  };
}

/** The operation that a call is; `path` below the organisation, without a query. */
export function operationOf(method: string, path: string): Operation | undefined {
  return operations.find((each) => {
    const pattern = each.path.replace('/{organization}', '').replaceAll(/\{\w+\}/gu, '[^/]+');
    return each.method === method && new RegExp(`^${pattern}$`, 'iu').test(path);
  });
}
