import type { LabHost } from './host.ts';
import { gpuFolders } from './gpus.ts';

const processes = `${gpuFolders.control}/processes`;
const folder = '/run/lab-tenants';

export interface Tenant {
  readonly pid: number;
  /** It ends, and its memory is free. */
  leave(): Promise<void>;
}

/**
 * A process of somebody who works on the host by hand: its own, and its memory on the GPU as nvidia-smi tells it. `name`: what
 * nvidia-smi says that it calls itself.
 */
export async function occupyGpu(
  host: LabHost,
  gpu: number,
  mib: number,
  { login = 'alice', name = 'python3' }: { readonly login?: string; readonly name?: string } = {},
): Promise<Tenant> {
  const { stdout } = await host.exec(
    `set -e
id -u ${login} >/dev/null 2>&1 || useradd --create-home ${login}
install -d -m 0777 ${folder}
printf 'echo $$ >$1\\nwhile :; do sleep 1; done\\n' >${folder}/train.py
file=$(mktemp -u ${folder}/XXXXXX)
setsid -f runuser -u ${login} -- sh ${folder}/train.py "$file" </dev/null >/dev/null 2>&1
until [ -s "$file" ]; do sleep 0.1; done
pid=$(cat "$file")
{ printf '%s' "${gpu} $pid ${mib} "; cat; } >>${processes}
echo "$pid"`,
    { input: `${name}\n` },
  );
  const pid = Number(stdout.trim());
  return {
    pid,
    leave: async () => {
      await host.exec(`kill -KILL ${pid} 2>/dev/null; sed -i '/^[0-9]* ${pid} /d' ${processes}; true`);
    },
  };
}
