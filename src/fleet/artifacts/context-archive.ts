import { contextTar } from '../../shared/image/build.ts';
import type { Desired } from '../steps/step.ts';

/** The build context as the manager of a host reads it from its folder: its bytes are part of the image's name. */
export function contextArchive(context: Desired['artifacts']['context']): Promise<Buffer> {
  return contextTar(
    context.map(({ path, artifact }) => ({
      path,
      content: Buffer.from(artifact.kind === 'text' ? artifact.text : ''),
      mode: path.endsWith('.sh') ? 0o755 : 0o644,
    })),
  );
}
