import type { Prompter } from '../ask.ts';
import type { ConnectionOptions } from '../config/connection-options.ts';
import { where } from '../failures.ts';
import type { HostKey } from '../host-keys/store.ts';
import type { PromptTurn } from './prompt-turn.ts';

interface Parts {
  readonly options: ConnectionOptions;
  readonly prompter: Prompter;
  readonly turn: PromptTurn;
  /** Called around the question, so that no clock runs while a person thinks. */
  readonly pause: () => () => void;
}

/**
 * Whether the person accepts a new host key: `yes`, or its fingerprint as they know it. Not where nobody can be asked.
 * Throws HungUp while another host is asking.
 */
export function askForKey({ options, prompter, turn, pause }: Parts): (key: HostKey) => Promise<boolean> {
  return async ({ type, fingerprint }) => {
    if (!prompter.canAsk) return false;
    turn.begin();
    const resume = pause();
    const text = `${where(options)} shows a new host key, ${type} ${fingerprint}. Accept it (yes, no, or the fingerprint)?`;
    const answer = await prompter.ask({ host: options.name, text, hidden: false }).finally(resume);
    const said = answer?.reveal().trim() ?? '';
    return said.toLowerCase() === 'yes' || said === fingerprint;
  };
}
