#!/usr/bin/env node
// Plain JavaScript on purpose: an older Node must be able to read this file to say what is missing.
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
if (process.platform === 'win32') {
  process.stderr.write(
    'azp-fleet does not run on Windows itself.\n' +
      'next: install it in WSL 2 ("wsl --install"), with a Node of its own, and call it there.\n',
  );
  process.exitCode = 2;
} else if (major > 22 || (major === 22 && minor >= 13)) {
  const { enableCompileCache } = await import('node:module');
  enableCompileCache?.();
  const { main } = await import('../dist/cli.mjs');
  process.exitCode = await main();
} else {
  const brought = join(dirname(fileURLToPath(import.meta.url)), '..', 'node_modules', '.bin', 'node');
  if (existsSync(brought) && realpathSync(brought) !== realpathSync(process.execPath))
    await handOver(brought);
  else {
    process.stderr.write(
      `azp-fleet needs Node 22.13 or newer; this is ${process.versions.node}.\n` +
        'next: install Node 24, or, in a clone, run "npm run cli" once: it brings its own.\n',
    );
    process.exitCode = 2;
  }
}

/** In a clone that brought a Node: the same command on that one, as if it had been called. */
async function handOver(node) {
  const { spawn } = await import('node:child_process');
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' });
  // A terminal tells both; what is sent to this process alone is passed on.
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGHUP']) process.on(signal, () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  process.exitCode = await new Promise((resolve) => {
    child.on('exit', (code) => resolve(code ?? 1));
  });
}
