import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const name = 'inventory.schema.json';

/**
 * Where an editor finds the schema of an inventory in this folder: the one beside the package, relative where the package
 * is installed there, else by its absolute path. Undefined: it is not beside this program.
 */
export function schemaPlace(folder: string, program: string = import.meta.url): string | undefined {
  const installed = path.join('node_modules', 'azp-fleet', name);
  if (existsSync(path.join(folder, installed))) return installed;
  for (let at = path.dirname(fileURLToPath(program)); ; at = path.dirname(at)) {
    const file = path.join(at, name);
    if (existsSync(file) && existsSync(path.join(at, 'package.json'))) return file;
    if (path.dirname(at) === at) return undefined;
  }
}
