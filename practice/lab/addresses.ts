import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';

import { docker } from './engine.ts';
import { withLock } from './lock.ts';
import { inState, network } from './paths.ts';

const folder = inState('addresses');

/** An address that stays with a container over its restarts. */
export function takeAddress(container: string): Promise<string> {
  return withLock('addresses', async () => {
    mkdirSync(folder, { recursive: true });
    const { stdout } = await docker(['ps', '-a', '--format', '{{.Names}}']);
    const existing = new Set(stdout.split('\n'));
    const holders = new Map(
      readdirSync(folder).map((last) => [last, readFileSync(`${folder}/${last}`, 'utf8')]),
    );
    const own = [...holders].find(([, holder]) => holder === container)?.[0];
    const isTaken = (last: string): boolean => {
      const holder = holders.get(last);
      return holder !== undefined && (existing.has(holder) || wasJustTaken(last));
    };
    const last = own ?? lasts.find((each) => !isTaken(each));
    if (last === undefined)
      throw new Error('every address of the lab is taken. Next: remove hosts that nobody needs');
    writeFileSync(`${folder}/${last}`, container);
    return network.address(Number(last));
  });
}

const lasts = Array.from({ length: 230 }, (_, index) => String(index + 10));

/** Between taking an address and starting it there is no container of that name yet. */
function wasJustTaken(last: string): boolean {
  return Date.now() - statSync(`${folder}/${last}`).mtimeMs < 120_000;
}

export function freeAddress(address: string): void {
  rmSync(`${folder}/${address.split('.').at(-1) ?? ''}`, { force: true });
}
