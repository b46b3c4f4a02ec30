import type { World } from './world.ts';

/** A mistake of the first hour. */
export interface Mistake {
  readonly name: string;
  /** Makes it, in a sound world. */
  readonly make: (world: World) => unknown;
  /** What is typed behind `azp-fleet`. */
  readonly typed: string;
  /** File, line and column, host or server, as the screen must name it. */
  readonly place: string;
  /** Who carries out a next action that no program can; the text must ask for exactly that. */
  readonly by?: Helper;
  /** The line from which on nothing is said about it: it is not kept. */
  readonly until?: string;
  /** The exit code of the command where all is well; 3: changes are pending. */
  readonly well?: number;
  /** Only a message: the command continues. */
  readonly warns?: boolean;
}

export interface Helper {
  /** `the network's administrator` */
  readonly who: string;
  readonly asked: RegExp;
  /** What was done, in words. */
  readonly does: string;
  readonly carry: (world: World, asked: RegExpExecArray) => unknown;
}

/** Who wrote the inventory, or types at the laptop. */
export const ann = (asked: RegExp, does: string, carry: Helper['carry']): Helper => ({
  who: 'ann',
  asked,
  does,
  carry,
});

/** Next actions where only the user knows what was meant. */
export const inItsPlace = /^replace it with an expected value$/;
