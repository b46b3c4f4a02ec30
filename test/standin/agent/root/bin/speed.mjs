// How many times as fast as real the practice server's slow rules run: it says so itself, and the agent keeps time
// with it. The real agent has one speed.
import { setTimeout as delay } from 'node:timers/promises';

const attempts = 5;

export async function speedOf(serverUrl, signal) {
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    try {
      const response = await fetch(new URL('/_fake/', serverUrl), { signal: AbortSignal.timeout(5000) });
      const { speed } = await response.json();
      if (speed > 0) return speed;
    } catch {
      const stopped = await delay(500, false, { signal }).catch(() => true);
      if (stopped) break;
    }
  }
  return 1;
}
