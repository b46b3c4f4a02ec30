import type { Context } from '../../shared/base/context.ts';
import { everyHost } from '../../fleet/inventory/select.ts';
import { confirm } from '../ask.ts';
import type { CommandInput } from '../command.ts';

/** Asks before something is done to every host, which a forgotten name would mean. True where hosts are named. */
export async function agreesToAll(
  context: Context,
  { positionals, options }: CommandInput,
  question: string,
): Promise<boolean> {
  const isAll = [...positionals, ...options.list('limit')].every((pattern) => pattern === everyHost);
  return !isAll || options.flag('yes') || (await confirm(context, question));
}
