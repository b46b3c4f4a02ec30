import { gpuRules, type GpuRuleCode } from '../../health/gpu-rules.ts';

/** Each rule for one GPU declares its code, cause and fix itself. */
const ofRules = Object.fromEntries(
  gpuRules.map(({ code, when, next }) => [code, [when, next.replaceAll('{bus}', 'ADDRESS')] as const]),
) as Readonly<Record<GpuRuleCode, readonly [cause: string, fix: string]>>;

/** Findings about a host's GPUs and driver. docs/health.md says when each is found, and how severe it is. */
export const healthCodes = {
  ...ofRules,
  'container.gpu-access': [
    'a container cannot open the GPU devices',
    'recreate the container; then check no-cgroups in /etc/nvidia-container-runtime/config.toml',
  ],
  'container.no-libcuda': [
    'libcuda.so.1 is missing in a container, or has no cuInit',
    'check nvidia-container-toolkit and that the driver capabilities contain compute',
  ],
  'container.no-uvm': [
    'a container has no /dev/nvidia-uvm: CUDA fails with error 999',
    'run `modprobe nvidia_uvm` on the host, then `systemctl restart nvidia-cdi-refresh.service`',
  ],
  'container.permission': [
    'a container is denied the GPU devices, as SELinux does',
    'run `setsebool container_use_devices on`, or use label=disable',
  ],
  'cuda.failed': ['CUDA does not initialize in a container', 'check `journalctl -k | grep NVRM` on the host'],
  'cuda.not-ready': [
    'CUDA is not ready: the fabric manager of the NVSwitches has not finished',
    'check `systemctl status nvidia-fabricmanager` on the host',
  ],
  'diagnose.incomplete': [
    'a saved output is not whole, or has lines with an XID in a form that is not known',
    'save the kernel log with plain `dmesg` or `journalctl -k -b`, and the GPUs with `nvidia-smi -q -x`',
  ],
  'driver.fabric-manager': [
    'a host has NVSwitches, and their fabric manager is not installed or does not run: CUDA fails with error 802',
    'run `azp-fleet provision`; then check `systemctl status nvidia-fabricmanager` on the host',
  ],
  'driver.mismatch': [
    'kernel module and driver libraries have different versions',
    'reboot the host, or run `azp-fleet provision`, which reloads the modules',
  ],
  'driver.no-library': [
    'libnvidia-ml, the management library of the driver, is missing or too old',
    'reinstall the user space of the driver, all packages of one version',
  ],
  'driver.no-uvm': [
    'the host has no /dev/nvidia-uvm, which CUDA needs',
    'wait for the next check, which creates it, or run `nvidia-modprobe -u -c=0`',
  ],
  'driver.not-loaded': [
    'the NVIDIA kernel module is not loaded',
    'run `azp-fleet provision`; then check `dkms status` and Secure Boot',
  ],
  'gpu.compute-exclusive': [
    'slots share a GPU whose compute mode lets only one process use it',
    'run `nvidia-smi -i ADDRESS -c DEFAULT` on the host, or give each slot its own GPU',
  ],
  'gpu.count': ['the host has fewer GPUs than gpus: says', 'check the missing card, or correct gpus:'],
  'gpu.inforom': ['the InfoROM of a GPU is corrupted; it often still works', 'plan to replace the card'],
  'gpu.init-failed': [
    'the driver could not initialize a GPU (`RmInitAdapter failed` in the kernel log)',
    'reboot the host; then check that the driver supports the card, its power and its seating',
  ],
  'gpu.interrupt': [
    'the kernel reports an interrupt problem with a GPU',
    'check the interrupt (MSI) settings of BIOS and kernel, then the hardware',
  ],
  'gpu.missing': [
    'a GPU is on the PCI bus, and nvidia-smi does not list it',
    'check `journalctl -k | grep NVRM` on the host',
  ],
  'gpu.none-found': [
    'the driver is loaded and finds no GPU that it can use',
    'install the open kernel modules for Blackwell GPUs, the proprietary ones of branch 580 for GPUs before Turing',
  ],
  'gpu.power-cable': ['the external power cable of a GPU is not attached', 'attach the power cable'],
  'gpu.process-hangs': [
    'a process on a GPU has been in state D for 5 min: it hangs in the kernel, and cannot be killed',
    'check `journalctl -k` on the host; if it does not exit, drain the host, then run `azp-fleet reboot`',
  ],
  'gpu.unreachable': [
    'the driver cannot reach a GPU, and nvidia-smi lists none because of it',
    'reboot the host; if the fault returns, check the hardware',
  ],
  'gpu.unsteady': [
    'the slot was closed three times within an hour, and stays closed for a while',
    'fix the cause, then run `azp-fleet repaired HOST`',
  ],
  'gpu.vbios-differs': [
    'GPUs of one model in a host have different VBIOS versions',
    'ask the vendor for one version if their speed differs',
  ],
  'host.clock-off': [
    'the clock of a host differs from that of the machine of `azp-fleet status` by more than 5 min',
    'compare both with the time, and synchronize the wrong one: `timedatectl set-ntp true`',
  ],
  'host.memory-corrected': [
    'the memory of a host had an error that was corrected (EDAC)',
    'plan to replace the memory module if it comes often',
  ],
  'host.memory-uncorrected': [
    'the memory or a CPU of a host had an error that was not corrected (EDAC, machine check)',
    'drain the host and test its memory; afterwards run `azp-fleet repaired HOST`',
  ],
  'host.no-kernel-log': [
    'the manager cannot read the kernel log, where XIDs are reported',
    'check `journalctl -k` on the host',
  ],
  'host.read-only': [
    'a file system has failed, and the kernel stopped writing to it',
    'check the disk and the file system (fsck); afterwards run `azp-fleet repaired HOST`',
  ],
  'nvswitch.sxid': ['an NVSwitch reported an error that was not fatal', 'check the log of fabric manager'],
  'nvswitch.sxid-fatal': [
    'an NVSwitch reported a fatal error (SXid)',
    'drain and reboot the host; if the fault returns, check NVSwitches and NVLink cables',
  ],
  'probe.no-image': ['the host has no image for the probe container', 'run `azp-fleet provision`'],
  'probe.skipped': [
    '`status --probe` did not probe a host, because its facts about Docker could not be read',
    'fix what prevents the read, then run again',
  ],
  'smi.ambiguous': [
    'the output of nvidia-smi has two readings: a process has XML in its name',
    'check the names of GPU processes with `nvidia-smi -q -d PIDS`',
  ],
  'smi.argument': ['this nvidia-smi does not support -q -x', 'install a driver of branch 470 or newer'],
  'smi.failed': [
    'nvidia-smi failed with another exit code',
    'run `nvidia-smi` on the host, and check `journalctl -k | grep NVRM`',
  ],
  'smi.hung': [
    'nvidia-smi does not answer: a GPU or the driver hangs',
    'reboot the host; if the fault returns, check the hardware',
  ],
  'smi.missing': ['nvidia-smi is missing on the host or in a container', 'run `azp-fleet provision`'],
  'smi.not-runnable': [
    'nvidia-smi cannot be executed',
    'compare its architecture with that of the host, and reinstall the user space of the driver',
  ],
  'smi.permission': ['nvidia-smi lacks permission', 'run it as root, and check /dev/nvidia*'],
  'smi.unreadable': [
    'the output of nvidia-smi cannot be parsed',
    'run `nvidia-smi -q -x` on the host, and report the output if it is correct',
  ],
  'smi.unsupported': ['the GPU does not support the query', 'check `nvidia-smi -q` on the host'],
  'support.ended': [
    'the vendor no longer supports a driver branch, a line of Docker or the agent, or a distribution',
    'change to the line that the message names',
  ],
  'support.ending': [
    'the vendor supports a driver branch, a line of Docker or the agent, or a distribution for 60 days at most',
    'plan the change to the line that the message names',
  ],
} as const;
