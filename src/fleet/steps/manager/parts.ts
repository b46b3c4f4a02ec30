import { sha256 } from '../../../shared/base/digest.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import type { Action, Artifact, Change, Description } from '../change.ts';
import { change } from '../changes.ts';

/** The credential waits here until the moment of the restart, so that the file in use is never ahead of the manager. */
export const nextToken = `${HostPaths.token}.next`;

interface Words extends Description {
  readonly title: string;
  readonly why: string;
}

/** A change of the manager that disturbs nothing. */
export function quiet(name: string, words: Words, actions: readonly Action[]): Change {
  return change('manager', name, { ...words, disturbs: 'nothing' }, actions);
}

export function upload(artifact: Artifact, path: string, mode: number): Action {
  return { kind: 'upload', artifact, path, mode };
}

export function textArtifact(text: string): Artifact {
  return { kind: 'text', text, sha256: sha256(text) };
}
