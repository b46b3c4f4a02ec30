import { date } from '../../../fleet/inventory/schema/values.ts';
import type { Wizard } from '../wizard-context.ts';

/** The day on which the credential ends. A forgotten one stops a fleet; azp-fleet warns three weeks before. */
export async function askExpiry({ prompts, context }: Wizard): Promise<string | undefined> {
  const text = await prompts.text(
    'token.expires',
    'When does it expire? (2027-05-31, Enter if you do not know):',
    {
      default: '',
      check: (typed) => (typed === '' ? undefined : expiryMistake(typed, context.clock.wall())),
    },
  );
  return text === '' ? undefined : text;
}

/** `now`: milliseconds since the epoch. */
export function expiryMistake(text: string, now: number): string | undefined {
  if (!date.safeParse(text).success) return 'Year-month-day, such as 2027-05-31';
  return Date.parse(text) <= now
    ? `${text} is over: a token that has ended is of no use; make a new one`
    : undefined;
}
