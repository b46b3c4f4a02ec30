/** Findings about a host's GPUs and driver. docs/health.md says when each is found, and how severe it is. */
export const healthCodes = {
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
  'gpu.count': ['the host has fewer GPUs than gpus: says', 'check the missing card, or correct gpus:'],
  'gpu.ecc-uncorrected': [
    'uncorrected memory errors since the last reset',
    'reset the GPU; if they come back, replace the card',
  ],
  'gpu.fabric': [
    'the NVLink fabric did not start, or failed: CUDA fails with 802',
    'check `systemctl status nvidia-fabricmanager` on the host',
  ],
  'gpu.fabric-starting': ['the NVLink fabric is starting', 'wait'],
  'gpu.hot': ['the GPU is at its temperature limit', 'check fans and airflow'],
  'gpu.inforom': ['the InfoROM of a GPU is corrupted; it often still works', 'plan to replace the card'],
  'gpu.interrupt': [
    'the kernel reports an interrupt problem with a GPU',
    'check the interrupt (MSI) settings of BIOS and kernel, then the hardware',
  ],
  'gpu.lost': ['a GPU has fallen off the PCI bus', 'reboot the host; if it comes back, check the hardware'],
  'gpu.mig-empty': [
    'MIG is on and has no instance, so no job can use the GPU',
    'create an instance, or turn MIG off',
  ],
  'gpu.missing': [
    'a GPU is on the PCI bus, and nvidia-smi does not list it',
    'check `journalctl -k | grep NVRM` on the host',
  ],
  'gpu.none-found': [
    'the driver is loaded and finds no GPU that it can use',
    'install the open kernel modules for Blackwell GPUs, the proprietary ones of branch 580 for GPUs before Turing',
  ],
  'gpu.pcie-generation': [
    'the PCIe link is slower than card and host allow',
    'reseat the card; check the slot and risers',
  ],
  'gpu.pcie-width': [
    'the PCIe link has fewer lanes than the card',
    'reseat the card; check the slot and risers',
  ],
  'gpu.persistence': [
    'persistence mode is off, so every container initializes the GPU again',
    'run `azp-fleet provision`',
  ],
  'gpu.power-cable': ['the external power cable of a GPU is not attached', 'attach the power cable'],
  'gpu.recovery-action': [
    'the driver asks for a reset or a reboot',
    'do what the finding says, then run `azp-fleet repaired HOST`',
  ],
  'gpu.recovery-minor': ['the driver asks for a minor action', 'do what the finding says'],
  'gpu.remap-failure': ['a memory row could not be remapped', 'replace the card'],
  'gpu.remap-pending': ['a memory row is remapped at the next reset', 'reset the GPU when it is idle'],
  'gpu.remapped-rows': ['many memory rows were remapped after errors', 'plan to replace the card'],
  'gpu.retirement-pending': ['a memory page is retired at the next reboot', 'reboot the host'],
  'gpu.slowed': ['a hardware slowdown is active', 'check power supply and cooling'],
  'gpu.slowed-heat': ['a slowdown by heat is active', 'check fans and airflow'],
  'gpu.slowed-power': ['the power brake is active', 'check power supply and cables'],
  'gpu.sram-threshold': ['the SRAM error threshold is exceeded', 'replace the card'],
  'gpu.unreachable': [
    'the driver cannot reach a GPU, and nvidia-smi lists none because of it',
    'reboot the host; if it comes back, check the hardware',
  ],
  'gpu.unsteady': [
    'the slot was closed three times within an hour, and stays closed for a while',
    'fix the cause, then run `azp-fleet repaired HOST`',
  ],
  'gpu.value-error': ['nvidia-smi shows an error instead of a value', 'reset the GPU or reboot the host'],
  'host.no-kernel-log': [
    'the manager cannot read the kernel log, where XIDs are reported',
    'check `journalctl -k` on the host',
  ],
  'probe.no-image': ['the host has no image for the probe container', 'run `azp-fleet provision`'],
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
    'reboot the host; if it comes back, check the hardware',
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
} as const;
