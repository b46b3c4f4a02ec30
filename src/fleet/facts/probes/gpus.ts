import { sh } from '../../../shared/base/shell.ts';
import type { Facts, PciGpu } from '../facts.ts';
import { KeyedLines } from '../lines.ts';
import { type FactProbe, runAlone } from '../probe.ts';

/**
 * Reads NVIDIA devices on the PCI bus, with or without a driver.
 * Class 0300 (VGA) and 0302 (3D) are GPUs, 0680 (bridge) are NVSwitches. NVLink 5 switches are Mellanox devices with SW_MNG in
 * their product data (NVIDIA's fabric manager user guide). Reading it goes through the card's firmware and may take seconds, so it
 * is done only beside GPUs of such boards, for all cards in parallel; cards without an answer are reported as `unread`.
 */
export const gpusProbe: FactProbe<Pick<Facts, 'gpus' | 'passedThrough' | 'nvswitches' | 'nvlink5'>> = {
  name: 'gpus',
  facts: ['gpus', 'ignoredGpus', 'passedThrough', 'nvswitches', 'nvlink5'],
  byHand: 'lspci -nn -d 10de:',
  timeoutS: 15,
  script: ({ root }) => `${sh`root=${root.prefix}`}
board=
for device in "$root"/sys/bus/pci/devices/*; do
  [ -r "$device/vendor" ] || continue
  read -r vendor <"$device/vendor"
  [ "$vendor" = 0x10de ] || continue
  read -r class <"$device/class"
  read -r id <"$device/device"
  driver=
  if [ -L "$device/driver" ]; then
    # The shell itself resolves the link, unless its target is missing.
    if cd -P "$device/driver" 2>/dev/null; then driver=$PWD; else driver=$(readlink "$device/driver"); fi
  fi
  case $class in
    0x0300* | 0x0302*)
      echo "gpu \${device##*/} \${id#0x} \${driver##*/}"
      case $id in 0x29* | 0x31*) board=NVLink5 ;; esac ;;
    0x0680*) echo nvswitch ;;
  esac
done
if [ -n "$board" ]; then
  ${runAlone}
  for data in "$root"/sys/bus/pci/devices/*/vpd; do
    [ -r "$data" ] || continue
    card=\${data%/vpd}
    read -r vendor <"$card/vendor"
    [ "$vendor" = 0x15b3 ] || continue
    {
      code=0
      timeout 10 grep -qa SW_MNG "$data" 2>/dev/null || code=$?
      case $code in
        0) echo nvlink5 ;;
        1) ;;
        *) echo "unread \${card##*/}" ;;
      esac
    } &
  done
  wait
  if [ -d "$root/sys/module/ib_umad" ]; then echo umad; fi
fi`,
  line: /^(gpu \S+ \S+ |nvswitch$|nvlink5$|unread |umad$)/,
  parse: (output) => {
    const lines = new KeyedLines(output);
    const unread = lines
      .all('unread')
      .filter((address) => /^[0-9a-f:.]{1,20}$/.test(address))
      .toSorted();
    const all = lines.all('gpu').flatMap((line): PciGpu[] => {
      const [address, deviceId, boundTo] = line.split(' ');
      if (address === undefined || deviceId === undefined) return [];
      return [{ address, deviceId: deviceId.toLowerCase(), boundTo }];
    });
    const isPassedThrough = ({ boundTo }: PciGpu): boolean => boundTo === 'vfio-pci';
    return {
      gpus: all.filter((gpu) => !isPassedThrough(gpu)),
      passedThrough: all.filter(isPassedThrough),
      nvswitches: lines.all('nvswitch').length,
      nvlink5: {
        switches: lines.all('nvlink5').length,
        umad: lines.has('umad'),
        ...(unread.length === 0 ? {} : { unread }),
      },
    };
  },
};
