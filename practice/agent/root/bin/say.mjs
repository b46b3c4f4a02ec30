// The agent's console. Real: the English lines, that the language follows LC_ALL, LC_MESSAGES or LANG (in this order;
// LANGUAGE has no effect), and "Auf Aufträge lauschen". Stand-in: the other German lines are translations of ours.
import { openTrace } from './trace.mjs';

const english = {
  scanning: () => 'Scanning for tool capabilities.',
  connecting: () => 'Connecting to the server.',
  listening: (at) => `${at}: Listening for Jobs`,
  running: (at, job) => `${at}: Running job: ${job}`,
  completed: (at, job, result) => `${at}: Job ${job} completed with result: ${result}`,
  exiting: () => 'Exiting...',
  errorOccurred: (what) => `An error occurred: ${what}`,
  sessionExists: () => 'A session for this agent already exists.',
  sessionGivenUp: () => 'Stop retry on SessionConflictException after retried for 240 seconds.',
  noSession: (what) => `Failed to create session. ${what}`,
  agentMissing: () => 'The agent no longer exists on the server. Please reconfigure the agent.',
  connectError: (at, what) => `${at}: Agent connect error: ${what}. Retrying until reconnected.`,
  reconnected: (at) => `${at}: Agent reconnected.`,
  updating: () => 'Agent update in progress, do not shutdown agent.',
  downloading: (version) => `Downloading ${version} agent`,
  waitingForJob: () => 'Waiting for current job finish running.',
  updateScript: () => 'Generate and execute update script.',
  exitingForUpdate: () => 'Agent will exit shortly for update, should back online within 10 seconds.',
};

const german = {
  scanning: () => 'Es wird nach Werkzeugen gesucht.',
  connecting: () => 'Der Server wird angesprochen.',
  listening: (at) => `${at}: Auf Aufträge lauschen`,
  running: (at, job) => `${at}: Auftrag läuft: ${job}`,
  completed: (at, job, result) => `${at}: Auftrag ${job} beendet, Ergebnis: ${result}`,
  exiting: () => 'Ende...',
  errorOccurred: (what) => `Ein Fehler: ${what}`,
  sessionExists: () => 'Dieser Agent hat schon eine Sitzung.',
  sessionGivenUp: () => 'Nach 240 Sekunden wird die Sitzung nicht weiter versucht.',
  noSession: (what) => `Es gibt keine Sitzung. ${what}`,
  agentMissing: () => 'Den Agenten gibt es auf dem Server nicht mehr.',
  connectError: (at, what) => `${at}: Keine Verbindung: ${what}. Es wird weiter versucht.`,
  reconnected: (at) => `${at}: Wieder verbunden.`,
  updating: () => 'Der Agent wird erneuert und darf nicht beendet werden.',
  downloading: (version) => `Agent ${version} wird geholt`,
  waitingForJob: () => 'Der laufende Auftrag wird abgewartet.',
  updateScript: () => 'Der Agent wird ausgetauscht.',
  exitingForUpdate: () => 'Der Agent endet gleich und kommt erneuert wieder.',
};

function wordsFor({ LC_ALL, LC_MESSAGES, LANG }) {
  const locale = LC_ALL || LC_MESSAGES || LANG || '';
  return locale.startsWith('de') ? german : english;
}

const words = wordsFor(process.env);
const trace = openTrace('Agent');

/** `2026-11-21 20:58:20Z` */
export const stamp = () =>
  new Date()
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/u, 'Z');

/** Writes a line, and returns it. */
export function say(name, ...values) {
  const line = words[name](...values);
  trace(line);
  process.stdout.write(`${line}\n`);
  return line;
}

export function sayError(name, ...values) {
  const line = words[name](...values);
  trace(line, 'ERR');
  process.stderr.write(`${line}\n`);
}
