import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * Terraform's language, by its own parser. The package's types are not used: they include the browser's types, which hide
 * mistakes in programs for Node.
 */
const library = require('@cdktn/hcl2json') as {
  parse(name: string, text: string): Promise<unknown>;
};

/** Returns the blocks of a file by kind; throws for invalid HCL. `name` is for messages. */
export function parseHcl(name: string, text: string): Promise<unknown> {
  return library.parse(name, text);
}
