import { sh } from '../../base/shell.ts';
import type { Facts, PciGpu } from '../facts.ts';
import { KeyedLines } from '../lines.ts';
import type { FactProbe } from '../probe.ts';

/**
 * NVIDIA devices on the PCI bus, with or without a driver.
 * Class 0300 (VGA) and 0302 (3D) are GPUs, 0680 (bridge) are NVSwitches.
 */
export const gpusProbe: FactProbe<Pick<Facts, 'gpus' | 'nvswitches'>> = {
  name: 'gpus',
  script: ({ root }) => `${sh`root=${root.prefix}`}
for device in "$root"/sys/bus/pci/devices/*; do
  [ -r "$device/vendor" ] || continue
  read -r vendor <"$device/vendor"
  [ "$vendor" = 0x10de ] || continue
  read -r class <"$device/class"
  read -r id <"$device/device"
  driver=
  if [ -L "$device/driver" ]; then driver=$(readlink "$device/driver"); fi
  case $class in
    0x0300* | 0x0302*) echo "gpu \${device##*/} \${id#0x} \${driver##*/}" ;;
    0x0680*) echo nvswitch ;;
  esac
done`,
  parse: ({ stdout }) => {
    const lines = new KeyedLines(stdout);
    return {
      gpus: lines.all('gpu').flatMap((line): PciGpu[] => {
        const [address, deviceId, boundTo] = line.split(' ');
        if (address === undefined || deviceId === undefined) return [];
        return [{ address, deviceId: deviceId.toLowerCase(), boundTo }];
      }),
      nvswitches: lines.all('nvswitch').length,
    };
  },
};
