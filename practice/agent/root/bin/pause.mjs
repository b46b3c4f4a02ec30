// Waits this many seconds of the practice server's time.
import { loadSettings } from './settings.mjs';
import { speedOf } from './speed.mjs';
import { pause } from './waits.mjs';

const settings = loadSettings();
await pause(Number(process.argv[2]) * 1000, settings === undefined ? 1 : await speedOf(settings.serverUrl));
