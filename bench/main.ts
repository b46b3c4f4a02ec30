// `npm run bench -- NAME [ARGUMENTS]`; without a name: all of them.
const benches: Readonly<
  Record<string, () => Promise<{ run(args: readonly string[]): void | Promise<void> }>>
> = {
  start: () => import('./start.ts'),
  ssh: () => import('./ssh.ts'),
  azure: () => import('./azure.ts'),
  pools: () => import('./pools/measure.ts'),
  manager: () => import('./manager/measure.ts'),
  flood: () => import('./flood/measure.ts'),
};

const [named, ...args] = process.argv.slice(2);
const names = named === undefined ? Object.keys(benches) : [named];
for (const name of names) {
  const load = benches[name];
  if (load === undefined)
    throw new Error(`no measurement is called ${name}; there are: ${Object.keys(benches).join(', ')}`);
  await (await load()).run(args);
}
