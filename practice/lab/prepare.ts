import { mkdirSync } from 'node:fs';

import { ensureBase } from './base-images.ts';
import { ensureEngine } from './engine.ts';
import { ensureHostImage, ensureRegistryImages } from './images.ts';
import { withLock } from './lock.ts';
import { releases } from './paths.ts';
import { cudaBase } from './recipes.ts';
import { ensureRepositories } from './repositories.ts';
import { agentMirror, ensureService, labServices } from './services.ts';
import { ensureCertificates } from './tls.ts';

/** Everything a host needs around it: engine, images, repositories, mirror and registry. Quick when it is all there. */
export async function prepareLab(): Promise<void> {
  await ensureEngine();
  await withLock('prepare', async () => {
    mkdirSync(agentMirror, { recursive: true });
    await ensureCertificates();
    await Promise.all([ensureRepositories(), ...releases.map(ensureHostImage), ensureBase(cudaBase)]);
    for (const service of labServices()) await ensureService(service);
    await ensureRegistryImages();
  });
}
