import { sh } from '../../base/shell.ts';
import { callProgram, machines } from './program.ts';

const cases = (Object.keys(machines) as (keyof typeof machines)[])
  .map(
    (name) => sh`    ${name}) program=${callProgram(name, 'libcuda.so.1', 'cuInit').toString('base64')} ;;`,
  )
  .join('\n');

/**
 * The look at GPUs from inside a container, and then CUDA itself: no image of an agent has to have anything of CUDA, because
 * the library comes with the GPUs (capability `compute`). Nothing is asked where nvidia-smi failed, and nothing is said where
 * the program cannot be made. The exit code is that of the look.
 */
export function withCuda(look: string): string {
  return `(
${look})
code=$?
case $code in
  0 | 14)
    case $(uname -m) in
${cases}
    *) program= ;;
    esac
    file=/tmp/azp-fleet-cuda
    if printf %s "$program" | base64 -d >"$file" && [ -s "$file" ] && chmod 700 "$file"; then
      said=$(timeout -k 5 20 "$file" 2>&1)
      echo "azp-fleet: cuInit exit $? $said"
    fi
    ;;
esac
exit "$code"
`;
}
