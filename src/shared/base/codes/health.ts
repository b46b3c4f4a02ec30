import { gpuRules, type GpuRuleCode, type Rule } from '../../health/gpu-rules.ts';
import { defined } from '../objects.ts';
import { dockerFaults, driverFaults, type Entry } from './entry.ts';

/** Each rule for one GPU declares its entry itself. */
const ofRules = Object.fromEntries(
  gpuRules.map((rule: Rule<never, GpuRuleCode>): [GpuRuleCode, Entry] => {
    const { code, when, next, title, severity, dependsOn, lastsForS } = rule;
    const entry = {
      title,
      ...defined({ dependsOn, lastsForS, severity: severity === 'fail' ? undefined : severity }),
    };
    return [code, [when, next.replaceAll('{bus}', 'ADDRESS'), entry]];
  }),
) as Readonly<Record<GpuRuleCode, Entry>>;

/** Findings about a host's GPUs and driver. */
export const healthCodes = {
  ...ofRules,
  'container.compute-mode-differs': [
    'the compute mode of a GPU is not the same on the host and in a container',
    'set it again on the host: `nvidia-smi -c DEFAULT`',
    {
      title: 'Compute modes differ',
      when: 'a GPU has another compute mode in the probe container than in the manager’s last check on the host',
      severity: 'warn',
      dependsOn: [...driverFaults, 'toolkit.missing'],
    },
  ],
  'container.driver-differs': [
    'the driver version is not the same on the host and in a container',
    'run `systemctl restart nvidia-cdi-refresh.service`; after an upgrade of the driver, reboot the host',
    {
      title: 'Container has another driver version',
      when: 'the probe container has another driver version than the manager’s last check on the host',
      severity: 'warn',
      dependsOn: [...driverFaults, 'toolkit.missing'],
    },
  ],
  'container.gpus-differ': [
    'a container with all GPUs sees others than the host',
    'run `systemctl restart nvidia-cdi-refresh.service`, then compare `nvidia-smi -L` on the host with that in a container',
    {
      title: 'Container sees other GPUs',
      when: 'the probe container has another number of GPUs, or other UUIDs, than the manager’s last check on the host',
      severity: 'warn',
      dependsOn: [...driverFaults, 'toolkit.missing'],
    },
  ],
  'container.not-compared': [
    'a value on the host or in the probe container could not be read, so that they are not compared',
    'compare `nvidia-smi` on the host with that in a container',
    {
      title: 'Host and container are not compared',
      when: 'a value was not read on a side, so that it is unknown',
      severity: 'info',
      dependsOn: [...driverFaults, 'toolkit.missing'],
    },
  ],
  'container.gpu-access': [
    'the container cannot open the GPU devices',
    'recreate the container; if a new one fails, too, check for no-cgroups=true in /etc/nvidia-container-runtime/config.toml',
    {
      title: 'Container cannot open the GPUs',
      when: 'in a container: `Failed to initialize NVML: Unknown Error`',
      dependsOn: [...driverFaults, 'toolkit.missing'],
    },
  ],
  'container.no-libcuda': [
    'containers have no usable libcuda.so.1: CUDA programs do not start',
    'check libcuda.so.1 on the host (`ldconfig -p`), then run `systemctl restart nvidia-cdi-refresh.service`',
    {
      title: 'No libcuda in containers',
      when: 'in a container: `libcuda.so.1` is missing, or has no `cuInit`',
      dependsOn: [...driverFaults, 'toolkit.missing'],
    },
  ],
  'container.no-uvm': [
    'the container has no /dev/nvidia-uvm: CUDA fails with error 999',
    'run `modprobe nvidia_uvm` on the host, then `systemctl restart nvidia-cdi-refresh.service`',
    {
      title: 'No /dev/nvidia-uvm in a container',
      when: 'in a container: GPU devices, but no `/dev/nvidia-uvm`: CUDA fails with 999',
      dependsOn: [...driverFaults, 'toolkit.missing'],
    },
  ],
  'container.permission': [
    'the container is denied the GPU devices, as SELinux does',
    'run `setsebool container_use_devices on`, or use label=disable',
    { title: 'Container is denied the GPUs', when: 'in a container: `Insufficient Permissions`' },
  ],
  'cuda.failed': [
    'CUDA does not initialize in a container',
    'check `journalctl -k | grep NVRM` on the host',
    {
      title: 'CUDA does not start',
      when: 'in a container: `cuInit` returns another error; warn if it takes more than 20 s',
      dependsOn: [...driverFaults, 'driver.fabric-manager', 'toolkit.missing'],
    },
  ],
  'cuda.not-ready': [
    'CUDA is not ready (error 802): the fabric manager has not connected the GPUs',
    'wait a minute; then check `systemctl status nvidia-fabricmanager` on the host: its version must equal the driver’s',
    {
      lastsForS: 120,
      title: 'CUDA is not ready',
      when: 'in a container: `cuInit` returns 802, as with NVSwitches until their fabric manager is ready',
      dependsOn: [...driverFaults, 'driver.fabric-manager'],
    },
  ],
  'deep.failed': [
    'a CUDA call of the deep check failed, or its program ended early',
    'check `journalctl -k | grep NVRM` on the host',
    {
      title: 'Deep check failed',
      when: '`status --deep`: a CUDA call failed, or the program ended early',
      dependsOn: [...driverFaults, 'toolkit.missing'],
    },
  ],
  'deep.hung': [
    'the deep check of a GPU did not end within 20 s',
    'drain and reboot the host; check `journalctl -k | grep NVRM`',
    {
      title: 'Deep check hung',
      when: '`status --deep`: it did not end within 20 s',
      dependsOn: [...driverFaults, 'toolkit.missing'],
    },
  ],
  'deep.memory': [
    'memory of a GPU did not keep the pattern of the deep check',
    'drain the host, run NVIDIA’s field diagnostics, and plan to replace the card',
    {
      title: 'GPU memory is faulty',
      when: '`status --deep`: memory did not keep the pattern',
      dependsOn: [...driverFaults, 'toolkit.missing'],
    },
  ],
  'deep.no-memory': [
    'a GPU has no free memory for the deep check, though no process uses it',
    'find who holds it: `nvidia-smi` and `fuser -v /dev/nvidia*` on the host',
    {
      title: 'No free memory for the deep check',
      when: '`status --deep`: no free memory, though no process uses the GPU',
      severity: 'warn',
      dependsOn: [...driverFaults, 'toolkit.missing'],
    },
  ],
  'deep.passed': [
    'the deep check of a GPU found nothing',
    'no action needed',
    { title: 'Deep check passed', when: '`status --deep` found nothing', severity: 'info' },
  ],
  'deep.ptx-rejected': [
    'the driver does not compile the kernel of the deep check',
    'install a newer driver branch; check that the container has libnvidia-ptxjitcompiler.so.1 of the driver',
    {
      title: 'Driver rejects the kernel',
      when: '`status --deep`: the driver cannot compile the kernel',
      severity: 'warn',
      dependsOn: [...driverFaults, 'toolkit.missing'],
    },
  ],
  'deep.skipped': [
    'a GPU was not tested: a job or process has it or may get it, or that is unknown',
    'drain the host (`azp-fleet drain HOST --wait`), end other processes on its GPUs, and run it again',
    {
      title: 'Deep check skipped',
      when: '`status --deep`: a job or another process may use the GPU',
      severity: 'info',
    },
  ],
  'deep.wrong-result': [
    'a kernel of the deep check returned a wrong result',
    'drain the host, run NVIDIA’s field diagnostics, and plan to replace the card',
    {
      title: 'GPU computes wrong results',
      when: '`status --deep`: the kernel returned a wrong result',
      dependsOn: [...driverFaults, 'toolkit.missing'],
    },
  ],
  'diagnose.incomplete': [
    'a saved output is not whole, or has lines with an XID in a form that is not known',
    'save the kernel log with plain `dmesg` or `journalctl -k -b`, and the GPUs with `nvidia-smi -q -x`',
    { title: 'Saved output is incomplete', severity: 'warn' },
  ],
  'driver.fabric-manager': [
    'a host has NVSwitches, and their fabric manager is not installed or does not run: CUDA fails with error 802',
    'run `azp-fleet provision`; then check `systemctl status nvidia-fabricmanager` on the host',
    {
      title: 'Fabric manager does not run',
      when: 'the facts show NVSwitches, and no running `nvidia-fabricmanager.service`',
    },
  ],
  'driver.mismatch': [
    'the loaded kernel module and the driver libraries have different versions',
    'run `azp-fleet reboot HOST`: the host then loads the installed module',
    {
      title: 'Driver versions differ',
      when: 'exit 18, `Driver/library version mismatch`; `cuInit` returns 803 in a container',
      dependsOn: ['driver.not-loaded'],
    },
  ],
  'driver.no-library': [
    'libnvidia-ml, the driver’s management library, is missing or too old',
    'add `utility` to the driver capabilities of a container; on the host, reinstall the user space of the driver, all packages of one version',
    { title: 'Driver library is missing', when: 'exit 12, 13', dependsOn: ['driver.not-loaded'] },
  ],
  'driver.no-uvm': [
    'the host has no /dev/nvidia-uvm, which CUDA needs',
    'wait for the next check, which creates it, or run `nvidia-modprobe -u -c=0`',
    {
      lastsForS: 60,
      title: 'No /dev/nvidia-uvm on the host',
      severity: 'warn',
      when: 'the host has no `/dev/nvidia-uvm`, as after a boot: `nvidia-smi` creates the other device files only. The manager runs `nvidia-modprobe`',
      dependsOn: driverFaults,
    },
  ],
  'driver.not-loaded': [
    'the NVIDIA kernel module is not loaded',
    'run `azp-fleet provision`; if the driver is installed, check `dkms status` and `journalctl -k | grep -i nvidia` (Secure Boot, kernel update)',
    { title: 'Driver is not loaded', when: 'exit 9; the facts show GPUs and no loaded module' },
  ],
  'gpu.compute-exclusive': [
    'slots share a GPU whose compute mode lets only one process use it',
    'run `nvidia-smi -i ADDRESS -c DEFAULT`, or give each slot its own GPU',
    {
      title: 'Shared GPU in exclusive mode',
      severity: 'warn',
      when: 'slots share a GPU in compute mode Exclusive',
    },
  ],
  'gpu.count': [
    'the host has fewer GPUs than gpus: says',
    'reboot the host and check the missing cards, or correct `gpus:` in the inventory',
    { title: 'GPUs are missing', when: 'fewer GPUs on the bus than `gpus:` in the inventory; stops no slot' },
  ],
  'gpu.inforom': [
    'a GPU’s InfoROM is corrupted; it often still works',
    'plan to replace the card',
    { title: 'InfoROM is corrupted', severity: 'warn', when: 'exit 14' },
  ],
  'gpu.init-failed': [
    'the driver could not initialize a GPU (`RmInitAdapter failed` in the kernel log)',
    'reboot the host; if the fault returns, check that the driver supports the card, then its power and seating',
    {
      title: 'GPU is not initialized',
      when: 'kernel log: `RmInitAdapter failed` for a GPU that nvidia-smi does not list',
    },
  ],
  'gpu.interrupt': [
    'the kernel reports an interrupt problem with a GPU',
    'check BIOS and kernel settings for the card’s interrupts (MSI), then the hardware',
    { title: 'Interrupt problem of a GPU', when: 'exit 10' },
  ],
  'gpu.missing': [
    'a GPU is on the PCI bus, and nvidia-smi does not list it',
    'run `azp-fleet reboot HOST`; if it is still missing, check `journalctl -k | grep NVRM` and the hardware',
    {
      title: 'GPU is not listed',
      when: 'on the PCI bus (VGA or 3D controller of NVIDIA, not bound to vfio-pci), but not listed; stops the slots on that GPU',
      // XID 79: the GPU has fallen off the bus.
      dependsOn: [...driverFaults, 'gpu.init-failed', 'gpu.none-found', 'xid.79'],
      kind: 'permanent',
    },
  ],
  'gpu.none-found': [
    'the driver is loaded and finds no GPU that it can use',
    'install the open kernel modules for Blackwell GPUs, the proprietary ones of branch 580 for GPUs before Turing; then check `journalctl -k | grep NVRM`',
    {
      title: 'No usable GPU',
      when: 'exit 6, `No devices were found`, `No supported GPUs were found`',
      dependsOn: ['driver.not-loaded', 'driver.mismatch', 'gpu.init-failed'],
    },
  ],
  'gpu.power-cable': [
    'a GPU’s external power cable is not attached',
    'attach the power cable',
    { title: 'Power cable is missing', when: 'exit 8' },
  ],
  'gpu.nvlink-inactive': [
    'NVLinks of a GPU are inactive',
    'check `systemctl status nvidia-fabricmanager` and `journalctl -k | grep NVRM` on the host, then drain and reboot it',
    {
      title: 'NVLinks are inactive',
      when: 'on a board (SXM and newer; not PCIe or NVL cards) a GPU has fewer active NVLinks than another of its model, or none of them has one; two checks in a row. Info where all have equally many, and on cards with a bridge',
      severity: 'warn',
    },
  ],
  'gpu.nvlink-unknown': [
    'nvidia-smi does not tell whether the NVLinks of a GPU are active',
    'run `nvidia-smi nvlink --status` on the host',
    { title: 'NVLinks are unknown', when: 'the links cannot be read', severity: 'info' },
  ],
  'gpu.pcie-width-lost': [
    'the PCIe link of a card has fewer lanes than it has had in this host',
    'reseat the card, check risers and the slot; if it is to stay so, run `azp-fleet repaired HOST --gpu ADDRESS`',
    {
      title: 'PCIe link lost lanes',
      when: 'the PCIe link of a card has fewer lanes than this card (by UUID) has had at this address; `azp-fleet repaired` forgets them',
      severity: 'warn',
    },
  ],
  'gpu.process-hangs': [
    'a process on a GPU has been in state D for 5 min: it hangs in the kernel, and cannot be killed',
    'check `journalctl -k` on the host; if it does not exit, drain the host, then run `azp-fleet reboot`',
    {
      title: 'Process hangs on a GPU',
      severity: 'warn',
      when: 'every check for 5 min shows a process on the GPU in state D',
    },
  ],
  'gpu.unreachable': [
    'the driver cannot reach a GPU, and nvidia-smi lists none because of it',
    'reboot the host; if the fault returns, check the hardware',
    { title: 'Driver cannot reach a GPU', when: '`Unable to determine the device handle`' },
  ],
  'gpu.unsteady': [
    'the slot was closed three times within an hour, and stays closed for a while',
    'fix the cause, then run `azp-fleet repaired HOST`',
    { title: 'GPU fails repeatedly', when: 'its slot was quarantined three times within an hour' },
  ],
  'gpu.vbios-differs': [
    'GPUs of one model in a host have different VBIOS versions',
    'ask the vendor for one version if their speed differs',
    {
      title: 'VBIOS versions differ',
      severity: 'info',
      when: 'GPUs of one model have different VBIOS versions',
    },
  ],
  'host.clock-off': [
    'the clock of a host differs from that of the machine of `azp-fleet status` by more than 5 min',
    'run `timedatectl set-ntp true` on the machine whose clock is wrong (compare `date -u` on both); Azure DevOps refuses agents whose clock is off by 5 min',
    {
      title: 'Clock differs',
      severity: 'info',
      when: "`status`: the host's clock differs from this machine's by more than 5 min (6 min where it is behind, since reading the facts takes up to one)",
    },
  ],
  'host.memory-corrected': [
    'the memory of a host had an error that was corrected (EDAC)',
    'plan to replace the memory module if it comes often',
    { title: 'Memory error was corrected', severity: 'info', when: 'kernel log: EDAC `CE`' },
  ],
  'host.memory-uncorrected': [
    'the memory or a CPU of a host had an error that was not corrected (EDAC, machine check)',
    'drain the host and test its memory; afterwards: azp-fleet repaired HOST',
    {
      title: 'Memory error',
      severity: 'warn',
      when: 'kernel log: EDAC `UE`, machine check exception, memory failure',
    },
  ],
  'host.no-kernel-log': [
    'the kernel log cannot be read, so GPU errors in it are not seen',
    'check `dmesg` on the host',
    { title: 'Kernel log is not readable', severity: 'info' },
  ],
  'host.nfs-failed': [
    'an NFS mount of the host does not answer, or answers with an error',
    'check the server that the finding names, and the network path to it',
    {
      title: 'NFS mount does not answer',
      when: 'an NFS mount does not answer `stat -f` within 10 s, or answers with an error: with its server, and since when; nothing is killed or unmounted',
      severity: 'warn',
    },
  ],
  'host.nfs-unchecked': [
    'the host has more NFS mounts than the manager checks',
    'unmount those that no job needs',
    {
      title: 'NFS mounts are not checked',
      when: 'more than 64 NFS mounts: those of datasets are checked first',
      severity: 'info',
    },
  ],
  'host.read-only': [
    'a file system has failed, and the kernel stopped writing to it',
    'check the disk and the file system (fsck); afterwards: azp-fleet repaired HOST',
    {
      title: 'File system is read-only',
      severity: 'warn',
      when: 'kernel log: ext4 remounted read-only, XFS shut down, Btrfs forced read-only',
    },
  ],
  'nvswitch.sxid': [
    'an NVSwitch reported an error that was not fatal',
    'check the fabric manager’s log if it comes often',
    { title: 'NVSwitch error', severity: 'info', when: 'kernel log: SXid `Non-fatal`' },
  ],
  'nvswitch.sxid-fatal': [
    'an NVSwitch reported a fatal error (SXid)',
    'drain and reboot the host; if the fault returns, check NVSwitches and NVLink cables',
    { title: 'Fatal NVSwitch error', when: 'kernel log: SXid `Fatal`' },
  ],
  'probe.no-image': [
    'the host has no image for the probe container',
    'run `azp-fleet provision`, which builds or pulls the agent image',
    {
      title: 'No image for the probe',
      when: 'the probe container did not run: `provision` and `status --probe` fail; the manager quarantines no slot',
      dependsOn: [...dockerFaults, 'image.failed'],
    },
  ],
  'probe.skipped': [
    '`status --probe` did not probe a host, because its facts about Docker could not be read',
    'fix what prevents the read, then run again',
    { title: 'Not probed', severity: 'info', dependsOn: ['facts.incomplete'] },
  ],
  'smi.ambiguous': [
    'the output of nvidia-smi has two readings: a process has XML in its name',
    'check the names of GPU processes with `nvidia-smi -q -d PIDS` for XML',
    {
      title: 'Output of nvidia-smi is ambiguous',
      when: 'a GPU appears twice or is not of this host, or a process name imitates a report; info if each GPU then answered separately',
    },
  ],
  'smi.argument': [
    'this nvidia-smi does not support `-q -x`',
    'install a driver of branch 470 or newer',
    { title: 'nvidia-smi is too old', when: 'exit 2' },
  ],
  'smi.failed': [
    'nvidia-smi failed with another exit code',
    'run `nvidia-smi` on the host, and check `journalctl -k | grep NVRM`',
    { title: 'nvidia-smi failed', when: 'any other exit code', dependsOn: driverFaults },
  ],
  'smi.hung': [
    'nvidia-smi does not answer: a GPU or the driver hangs',
    'run `azp-fleet reboot HOST`; if the fault returns, check the hardware',
    {
      title: 'nvidia-smi hangs',
      when: 'no answer within 60 s, also from `nvidia-modprobe`, or a probe container that cannot be stopped; no second one starts while one hangs; verdict *hung*',
    },
  ],
  'smi.missing': [
    'nvidia-smi is missing',
    'run `azp-fleet provision` to install the driver',
    { title: 'nvidia-smi is missing', when: 'exit 127', dependsOn: ['driver.not-loaded', 'toolkit.missing'] },
  ],
  'smi.not-runnable': [
    'nvidia-smi cannot be executed',
    'compare its architecture with that of the host, and reinstall the user space of the driver',
    { title: 'nvidia-smi cannot be executed', when: 'exit 126', dependsOn: ['driver.not-loaded'] },
  ],
  'smi.permission': [
    'nvidia-smi lacks permission',
    'run it as root, and check /dev/nvidia*',
    { title: 'nvidia-smi lacks permission', when: 'exit 4' },
  ],
  'smi.unreadable': [
    'the output of nvidia-smi cannot be parsed',
    'run `nvidia-smi -q -x` on the host, and report the output if it is correct',
    { title: 'Output of nvidia-smi is not readable', when: 'exit 0 with unreadable output' },
  ],
  'smi.unsupported': [
    'the GPU does not support the query',
    'check `nvidia-smi -q` on the host',
    { title: 'GPU does not support the query', when: 'exit 3' },
  ],
  'support.ended': [
    'the vendor no longer supports a driver branch, a line of Docker or the agent, or a distribution',
    'change to the line that the message names',
    {
      title: 'Vendor support has ended',
      severity: 'warn',
      when: '`plan` and `status` show it; no verdict changes',
    },
  ],
  'support.ending': [
    'the vendor supports a driver branch, a line of Docker or the agent, or a distribution for 60 days at most',
    'plan the change to the line that the message names',
    {
      title: 'Vendor support ends soon',
      severity: 'warn',
      when: 'for 60 days at most; `plan` and `status` show it; no verdict changes',
    },
  ],
} as const;
