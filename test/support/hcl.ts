import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * Terraform's own language, by its own parser. The package's types are left aside: they bring a browser's with them, in
 * which mistakes of programs that run without one go unseen.
 */
const library = require('@cdktn/hcl2json') as {
  parse(name: string, text: string): Promise<unknown>;
};

/** Returns the blocks of a file by kind; throws for invalid HCL. `name` is for messages. */
export function parseHcl(name: string, text: string): Promise<unknown> {
  return library.parse(name, text);
}
