#!/usr/bin/env node
// Plain JavaScript on purpose: an older Node must be able to read this file to say what is missing.
const [major, minor] = process.versions.node.split('.').map(Number);
if (process.platform === 'win32') {
  process.stderr.write(
    'azp-fleet does not run on Windows itself.\n' +
      'next: install it in WSL 2 ("wsl --install"), with a Node of its own, and call it there.\n',
  );
  process.exitCode = 2;
} else if (major > 22 || (major === 22 && minor >= 13)) {
  keepCompiledCode();
  // The bundled dockerode calls url.parse; Node would warn the user of that.
  process.noDeprecation = true;
  const { main } = await import('../dist/cli.mjs');
  process.exitCode = await main();
} else {
  const { existsSync, realpathSync } = await import('node:fs');
  const path = await import('node:path');
  const { fileURLToPath } = await import('node:url');
  const folder = path.dirname(fileURLToPath(import.meta.url));
  const brought = path.join(folder, '..', 'node_modules', '.bin', 'node');
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

/**
 * Keeps compiled code in a folder that no other user can write, because it is run without a check. Without such a folder
 * every start compiles. Modules are read by `getBuiltinModule`, because an import loads more.
 */
function keepCompiledCode() {
  const { HOME, NODE_COMPILE_CACHE, XDG_CACHE_HOME } = process.env;
  const caches = XDG_CACHE_HOME || (HOME && `${HOME}/.cache`);
  // With the variable, Node has a folder that the user chose.
  if (NODE_COMPILE_CACHE || !caches || !caches.startsWith('/')) return;
  const { existsSync, lstatSync, mkdirSync, statSync } = process.getBuiltinModule('fs');
  const folders = [`${caches}/azp-fleet`, `${caches}/azp-fleet/compiled`];
  const user = process.geteuid();
  let above = caches;
  while (!existsSync(above)) above = above.slice(0, above.lastIndexOf('/')) || '/';
  try {
    // Below another user's home, which "sudo" may keep: its owner could replace the folder.
    if (![0, user].includes(statSync(above).uid)) return;
    mkdirSync(folders[1], { recursive: true, mode: 0o700 });
    const isPrivate = (folder) => {
      const { uid, mode } = lstatSync(folder);
      return uid === user && (mode & 0o170022) === 0o040000;
    };
    if (folders.every(isPrivate)) process.getBuiltinModule('module').enableCompileCache(folders[1]);
  } catch {
    // The folder cannot be created: on a read-only disk, or because a file has its name.
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
