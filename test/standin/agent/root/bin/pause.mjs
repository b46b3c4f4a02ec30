// Waits so many seconds of the practice server's.
import { setTimeout as delay } from 'node:timers/promises';
import { loadSettings } from './settings.mjs';
import { speedOf } from './speed.mjs';

const settings = loadSettings();
const speed = settings === undefined ? 1 : await speedOf(settings.serverUrl);
await delay((Number(process.argv[2]) * 1000) / speed);
