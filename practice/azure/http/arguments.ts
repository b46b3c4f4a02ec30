import type { Reply } from './reply.ts';

// What the service says of arguments is .NET's own text, with the argument's name on a second line. Which argument is
// refused is read from a build of the server; the exact words of the longer messages are not verified.

function argument(typeKey: string, message: string, parameter: string): Reply {
  return {
    status: 400,
    json: {
      $id: '1',
      innerException: null,
      message: `${message}\r\nParameter name: ${parameter}`,
      typeName: `System.${typeKey}, mscorlib`,
      typeKey,
      errorCode: 0,
      eventId: 0,
    },
  };
}

export const missingArgument = (parameter: string): Reply =>
  argument('ArgumentNullException', 'Value cannot be null.', parameter);

export const invalidArgument = (message: string, parameter: string): Reply =>
  argument('ArgumentException', message, parameter);

/** What a query or a body does not parse as. */
export const badRequest: Reply = {
  status: 400,
  json: { count: 1, value: { Message: 'The request is invalid.' } },
};

/** No control characters, no halves of a character, and nothing that a file name may not have (read from the server's check). */
const illegal = /[\p{Cc}\p{Cs}"*/:<>?\\|]/u;

export function isGuid(text: string): boolean {
  return /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/iu.test(text);
}

export interface NameRule {
  /** As messages call it: `agent.Name`. */
  readonly parameter: string;
  /** Agent, pool or queue. */
  readonly what: string;
  readonly longest: number;
}

/** Undefined: the name will do. `given` is whatever the body has there. */
export function nameRefusal(given: unknown, { parameter, what, longest }: NameRule): Reply | undefined {
  if (given === undefined || given === null) return missingArgument(parameter);
  const name = typeof given === 'string' ? given.trim() : '';
  if (name === '') return invalidArgument('The string must have at least one character.', parameter);
  if (name.length <= longest && !illegal.test(name)) return undefined;
  return invalidArgument(
    `${what} name ${name.slice(0, 200)} is not valid: at most ${longest} characters, and none of " * / : < > ? \\ |.`,
    parameter,
  );
}
