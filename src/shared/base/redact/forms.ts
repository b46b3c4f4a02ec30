import { foreignLine, foreignLines } from '../foreign-text.ts';

/** Characters from which on a line of a secret is a secret of its own: a shorter one is a bracket, or a word. */
const shortestLine = 8;
/** Lines of a secret that are looked at each for itself: a private key has some 50. */
const mostLines = 200;

/**
 * The texts in which a secret travels, it itself among them: URL- and form-encoded, in JSON (as several programs write it,
 * and within a text of JSON once more), cleaned as what others said is, in base64 (of it alone, as user or password of HTTP
 * Basic, and amid anything else, then without the characters that depend on what stands beside it), and all of that of each
 * of its lines. None is shorter than `shortest`; it itself is always there.
 */
export function secretForms(value: string, shortest: number): string[] {
  // A carriage return ends a line for some programs and is a character of the line for others.
  const lines = [/\r\n|\r|\n/, '\n'].flatMap((end) => value.split(end).map((line) => line.trim()));
  const parts = [...new Set(lines)].filter((line) => line.length >= shortestLine && line !== value);
  const forms = [value, ...parts.slice(0, mostLines)].flatMap((text) => [text, ...encoded(text)]);
  return [...new Set(forms)].filter((form) => form.length >= shortest);
}

function encoded(text: string): string[] {
  return [
    ...percentForms(text),
    ...jsonForms(text),
    foreignLine(text),
    foreignLines(text),
    ...base64Forms(text),
  ];
}

function percentForms(text: string): string[] {
  const whole = text.toWellFormed();
  const component = encodeURIComponent(whole);
  const strict = component.replaceAll(/[!'()*]/g, percent);
  const form = new URLSearchParams([['', whole]]).toString().slice(1);
  const upper = [component, strict, form, encodeURI(whole)];
  return [...upper, ...upper.map(lowerPercent)];
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

function lowerPercent(text: string): string {
  return text.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
}

/** What is escaped in JSON, its writers decide: Go what HTML knows, Python what is not ASCII, PHP slashes too, .NET all of it. */
function jsonForms(text: string): string[] {
  const plain = inJson(text);
  const go = plain.replaceAll(/[&<>]/g, unicode);
  const python = plain.replaceAll(/[^\0-\u007f]/g, unicode);
  const php = python.replaceAll('/', String.raw`\/`);
  const dotnet = plain
    .replaceAll(String.raw`\"`, String.raw`\u0022`)
    .replaceAll(/[^\0-\u007f]|[&'+<>`]/g, upperUnicode);
  return [plain, inJson(plain), go, python, php, dotnet];
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function unicode(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function upperUnicode(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}

function base64Forms(text: string): string[] {
  const alone = [text, `:${text}`, `${text}:`].flatMap((each) => {
    const padded = Buffer.from(each).toString('base64');
    return [padded, padded.replace(/=+$/, '')];
  });
  const all = [...alone, ...[0, 1, 2].map((before) => amid(text, before))];
  return [...all, ...all.map(urlSafe)];
}

/** What base64 makes of it behind so many bytes (of three), whatever those are and whatever follows. */
function amid(text: string, before: number): string {
  const whole = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
  const from = Math.ceil((before * 8) / 6);
  const to = Math.floor((whole.length * 8) / 6);
  return whole.toString('base64').slice(from, to);
}

function urlSafe(text: string): string {
  return text.replaceAll('+', '-').replaceAll('/', '_');
}
