import type { World } from './world.ts';

/** A mistake of the first hour. */
export interface Mistake {
  readonly name: string;
  /** Makes the mistake in a correct world. */
  readonly make: (world: World) => unknown;
  /** Arguments of `azp-fleet`. */
  readonly typed: string;
  /** File, line and column, host or server that the screen must name. */
  readonly place: string;
  /** Carries out a next action that no program can; the text must request exactly that. */
  readonly by?: Helper;
  /** The line after which the report does not mention the mistake again. */
  readonly until?: string;
  /** The exit code of the command without the mistake; 3: changes are pending. */
  readonly well?: number;
  /** A warning: the command continues. */
  readonly warns?: boolean;
}

export interface Helper {
  /** `the network's administrator` */
  readonly who: string;
  readonly asked: RegExp;
  /** Description of the fix. */
  readonly does: string;
  readonly carry: (world: World, asked: RegExpExecArray) => unknown;
}

/** The author of the inventory, or the user at the laptop. */
export const ann = (asked: RegExp, does: string, carry: Helper['carry']): Helper => ({
  who: 'ann',
  asked,
  does,
  carry,
});

/** Next actions for which only the user knows the correct value. */
export const inItsPlace = /^replace it with an expected value$/;
