import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';

import { digest } from './digest.ts';
import { docker } from './engine.ts';
import { inState } from './paths.ts';
import type { BaseRecipe } from './recipes.ts';
import { run } from './run.ts';
import { say } from './say.ts';

const underway = new Map<string, Promise<string>>();

/** Makes one base image unless this exact recipe has been made before; returns its tag. */
export function ensureBase(recipe: BaseRecipe): Promise<string> {
  const tag = `azp-fleet-lab/${recipe.name}:${digest(recipe)}`;
  const made = underway.get(tag) ?? make(recipe, tag);
  underway.set(tag, made);
  return made;
}

async function make(recipe: BaseRecipe, tag: string): Promise<string> {
  if (await hasImage(tag)) return tag;
  say(`building ${recipe.name} from Debian's archive (half a minute; with a large program, two)`);
  const tar = await bootstrap(recipe);
  await docker(['import', tar, tag]);
  rmSync(tar);
  say(`built ${recipe.name}`);
  return tag;
}

export async function hasImage(tag: string): Promise<boolean> {
  return (await docker(['image', 'inspect', '--format', 'ok', tag], { allowFailure: true })).code === 0;
}

async function bootstrap(recipe: BaseRecipe): Promise<string> {
  const folder = inState('bases');
  mkdirSync(folder, { recursive: true });
  const tar = `${folder}/${recipe.name}.tar`;
  const part = `${folder}/${recipe.name}.part.tar`;
  if (existsSync(part)) rmSync(part);
  const options = [
    ['--variant=minbase', '--mode=root', `--include=${recipe.packages.join(',')}`],
    ['--aptopt=Acquire::Languages "none"', '--dpkgopt=force-unsafe-io'],
    ['--dpkgopt=path-exclude=/usr/share/man/*', '--dpkgopt=path-exclude=/usr/share/locale/*'],
    ['--dpkgopt=path-exclude=/usr/share/doc/*', '--dpkgopt=path-include=/usr/share/doc/*/copyright'],
    ['--format=tar', recipe.suite, part, `deb http://deb.debian.org/debian ${recipe.suite} main`],
  ].flat();
  await run('mmdebstrap', options, { timeoutMs: 900_000, env: { TMPDIR: folder } });
  renameSync(part, tar);
  return tar;
}
