import { addAbortSignal, finished, type Readable } from 'node:stream';
import { FleetError } from '../base/errors.ts';
import { foreignJson } from '../base/foreign-text.ts';
import { isObject } from '../base/objects.ts';
import { readerBounds } from '../base/reader-bounds.ts';

/** One JSON object of the engine. */
export type Answer = Readonly<Record<string, unknown>>;

/**
 * Reads the engine's answers: a value that is missing, or has another type, is empty. Values that identify an object, or
 * that a decision rests on, are read with `needed…`, which throws; within `bounded` that is an error of the engine.
 */
export function answer(value: unknown): Answer {
  return isObject(value) ? value : {};
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

export function textsByName(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(answer(value)).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

export function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** Returns the name of a listed container; the engine writes `/name`. */
export function containerName({ Names: names }: Answer): string {
  return (texts(names)[0] ?? '').replace(/^\//, '');
}

export function neededList(value: unknown): readonly Answer[] {
  if (!Array.isArray(value) || !value.every(isObject)) throw new TypeError('the answer is not a list');
  return value;
}

export function neededText(of: Answer, key: string): string {
  const value = of[key];
  if (typeof value !== 'string') throw new TypeError(`the answer has no ${key}`);
  return value;
}

export function neededNumber(of: Answer, key: string): number {
  const value = of[key];
  if (typeof value !== 'number') throw new TypeError(`the answer has no ${key}`);
  return value;
}

export function neededFlag(of: Answer, key: string): boolean {
  const value = of[key];
  if (typeof value !== 'boolean') throw new TypeError(`the answer has no ${key}`);
  return value;
}

type Response = Readable & { readonly statusCode: number };
type Done = (error: unknown, answer: unknown) => void;

interface Dialed {
  readonly isStream?: boolean;
  readonly openStdin?: boolean;
  readonly hijack?: boolean;
  readonly abortSignal?: AbortSignal;
}

/** What dockerode's modem does with a call; its types keep a part of it private. */
export interface Modem {
  dial: (call: Dialed, done: Done) => void;
  buildPayload: (
    error: unknown,
    isStream: boolean,
    statusCodes: Readonly<Record<number, unknown>>,
    openStdin: boolean,
    request: unknown,
    response: Response,
    json: unknown,
    done: Done,
  ) => void;
}

/** Bounds what a modem reads of an answer at once, and of a refusal: by itself it collects all of it. */
export function boundAnswers(modem: Modem): void {
  const dial = modem.dial.bind(modem);
  const payload = modem.buildPayload.bind(modem);
  modem.dial = (call, done) => {
    if (call.isStream === true || call.openStdin === true || call.hijack === true) return dial(call, done);
    dial({ ...call, isStream: true }, (error, response) => {
      if (error) return done(error, null);
      const { abortSignal } = call;
      const stream = response as Response;
      read(abortSignal === undefined ? stream : addAbortSignal(abortSignal, stream), done);
    });
  };
  modem.buildPayload = (error, isStream, statusCodes, openStdin, request, response, json, done) => {
    if (error || !isStream || statusCodes[response.statusCode] === true)
      return payload(error, isStream, statusCodes, openStdin, request, response, json, done);
    read(response, (failure, refusal) => {
      if (failure) return done(failure, null);
      payload(null, false, statusCodes, openStdin, request, response, refusal, done);
    });
  };
}

/** Reads an answer: JSON, or the bytes where it is none. */
function read(response: Readable, done: Done): void {
  const most = readerBounds.engineAnswer.bytes;
  const parts: Buffer[] = [];
  let bytes = 0;
  response.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes <= most) parts.push(part);
    else response.destroy(tooLong(most));
  });
  finished(response, (error) => {
    const all = Buffer.concat(parts);
    if (error) done(error, null);
    else done(null, foreignJson(all.toString()) ?? all);
  });
}

function tooLong(most: number): FleetError {
  return new FleetError({
    code: 'engine.failed',
    what: `an answer of Docker is longer than ${most / 1024 / 1024} MiB`,
  });
}
