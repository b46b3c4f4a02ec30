# Formats the GPUs for the stand-in nvidia-smi. Each input file describes one GPU as name=value lines.
# `mode` holds lines of a failure and the host's index of its GPU: "exit15 0", "ecc 1", "unknown 0", "recovery 0", ...
BEGIN {
  mode = ENVIRON["smi_mode"]
  rows = split(ENVIRON["smi_processes"], row, "\n")
}
FNR == 1 { n++ }
{ at = index($0, "="); gpu[n - 1, substr($0, 1, at - 1)] = substr($0, at + 1) }

function bad(i, kind,   k, part, lines, total) {
  total = split(mode, lines, "\n")
  for (k = 1; k <= total; k++) {
    split(lines[k], part, " ")
    if (part[1] == kind && (part[2] == "" || part[2] == gpu[i, "index"])) return 1
  }
  return 0
}
function ecc(i, value) { return gpu[i, "ecc"] == "yes" ? value : "[N/A]" }
function unknown(i, value) { return bad(i, "unknown") ? "[Unknown Error]" : value }
function power(i) { return sprintf("%.2f", gpu[i, "power"] / 9) }
function used(i,   k, part, sum) {
  sum = bad(i, "busy") ? int(gpu[i, "memory"] / 2) : 0
  for (k = 1; k <= rows; k++) if (split(row[k], part, " ") >= 3 && part[1] == gpu[i, "index"]) sum += part[3]
  return sum
}
# What a process calls itself stands as it is, commas and markup too.
function called(k,   name) { name = row[k]; sub(/^[^ ]+ [^ ]+ [^ ]+ ?/, "", name); return name }
function app(i, k, f,   part) {
  split(row[k], part, " ")
  if (f == "gpu_uuid") return gpu[i, "uuid"]
  if (f == "gpu_name") return gpu[i, "name"]
  if (f == "gpu_bus_id") return gpu[i, "bus"]
  if (f == "pid") return part[2]
  if (f == "process_name" || f == "name") return called(k)
  if (f == "used_gpu_memory" || f == "used_memory") return part[3] unit("MiB")
  return "?"
}
function apps(   names, total, i, j, k, line) {
  total = split(fields, names, ",")
  for (j = 1; j <= total; j++) {
    sub(/^ +/, "", names[j])
    if (app(0, 1, names[j]) == "?") { printf "Field \"%s\" is not a valid field to query.\n\n", names[j]; exit 2 }
  }
  if (format !~ /noheader/) { line = names[1]; for (j = 2; j <= total; j++) line = line ", " names[j]; print line }
  if (where == "container") return
  for (k = 1; k <= rows; k++) for (i = 0; i < n; i++) {
    if (row[k] !~ "^" gpu[i, "index"] " ") continue
    line = app(i, k, names[1]); for (j = 2; j <= total; j++) line = line ", " app(i, k, names[j]); print line
  }
}
function xml_processes(i,   k, part) {
  open(2, "processes")
  for (k = 1; k <= rows; k++) if (where != "container" && row[k] ~ "^" gpu[i, "index"] " ") {
    split(row[k], part, " ")
    open(3, "process_info"); tag(4, "gpu_instance_id", "N/A"); tag(4, "compute_instance_id", "N/A"); tag(4, "pid", part[2])
    tag(4, "type", "C"); tag(4, "process_name", called(k)); tag(4, "used_memory", part[3] " MiB"); close_(3, "process_info")
  }
  close_(2, "processes")
}
function nvlinks(i,   k) {
  printf "GPU %d: %s (UUID: %s)\n", i, gpu[i, "name"], gpu[i, "uuid"]
  if (gpu[i, "name"] !~ /SXM|HBM3|H200$|B200/) { print "Device does not have or support Nvlink"; return }
  for (k = 0; k < 18; k++) printf "\t Link %d: %s\n", k, k == 0 && bad(i, "nvlink") ? "<inactive>" : "26.562 GB/s"
}
function util(i) { return bad(i, "busy") ? 100 : 0 }

# Units belong to the value unless the format says nounits; the name alone ends in "?" when it is not a field.
function field(i, f) {
  if (f == "index") return i
  if (f == "count") return n
  if (f == "uuid" || f == "gpu_uuid") return gpu[i, "uuid"]
  if (f == "name" || f == "gpu_name") return gpu[i, "name"]
  if (f == "serial" || f == "gpu_serial") return gpu[i, "serial"]
  if (f == "pci.bus_id" || f == "gpu_bus_id") return gpu[i, "bus"]
  if (f == "pci.device_id") return "0x" toupper(gpu[i, "device"]) "10DE"
  if (f == "driver_version") return loaded
  if (f == "compute_cap") return gpu[i, "cc"]
  if (f == "persistence_mode") return "Enabled"
  if (f == "pstate") return "P0"
  if (f == "memory.total") return gpu[i, "memory"] unit("MiB")
  if (f == "memory.reserved") return "614" unit("MiB")
  if (f == "memory.used") return used(i) unit("MiB")
  if (f == "memory.free") return (gpu[i, "memory"] - 614 - used(i)) unit("MiB")
  if (f == "utilization.gpu") return unknown(i, util(i) unit("%"))
  if (f == "temperature.gpu") return unknown(i, bad(i, "hot") ? 93 : 31)
  if (f == "temperature.gpu.tlimit") return unknown(i, bad(i, "hot") ? -3 : 56)
  if (f == "temperature.memory") return unknown(i, 33)
  if (f == "power.draw") return unknown(i, power(i) unit("W"))
  if (f == "power.limit") return gpu[i, "power"] ".00" unit("W")
  if (f == "clocks_event_reasons.active" || f == "clocks_throttle_reasons.active") return bad(i, "hot") ? "0x0000000000000048" : "0x0000000000000001"
  if (f ~ /^clocks_(event|throttle)_reasons\.(hw_slowdown|hw_thermal_slowdown)$/) return bad(i, "hot") ? "Active" : "Not Active"
  if (f ~ /^clocks_(event|throttle)_reasons\.(hw_power_brake_slowdown|sw_thermal_slowdown|sw_power_cap)$/) return "Not Active"
  if (f ~ /^clocks_event_reasons_counters\.(hw_thermal_slowdown|hw_power_brake_slowdown|sw_thermal_slowdown)$/) return "0" unit("us")
  if (f == "ecc.mode.current" || f == "ecc.mode.pending") return ecc(i, "Enabled")
  if (f == "ecc.errors.corrected.volatile.total") return ecc(i, 0)
  if (f == "ecc.errors.uncorrected.volatile.total") return ecc(i, bad(i, "ecc") ? 3 : 0)
  if (f == "ecc.errors.uncorrected.aggregate.total") return ecc(i, bad(i, "ecc") ? 3 : 0)
  if (f == "ecc.errors.uncorrected.aggregate.sram.thresholdExceeded") return ecc(i, "No")
  if (f == "retired_pages.pending") return "[N/A]"
  if (f == "remapped_rows.correctable" || f == "remapped_rows.uncorrectable") return ecc(i, 0)
  if (f == "remapped_rows.pending") return ecc(i, bad(i, "remap") ? "Yes" : "No")
  if (f == "remapped_rows.failure") return ecc(i, bad(i, "remap-failure") ? "Yes" : "No")
  if (f == "gpu_recovery_action") return recovery(i)
  if (f == "inforom.checksum_validation") return bad(i, "inforom") ? "invalid" : "valid"
  if (f ~ /^pcie\.link\.gen\.(current|max|gpumax)$/) return 5
  if (f == "pcie.link.gen.hostmax") return "[N/A]"
  if (f ~ /^pcie\.link\.width\.(current|max)$/) return bad(i, "width") && f ~ /current/ ? 8 : 16
  if (f == "mig.mode.current" || f == "mig.mode.pending") return ecc(i, "Disabled")
  if (f == "compute_mode") return "Default"
  if (f == "display_active" || f == "display_mode") return "Disabled"
  if (f == "fabric.state" || f == "fabric.status" || f == "fabric.health.summary") return "N/A"
  if (f == "vbios_version") return "96.00.A5.00.03"
  return "?"
}
function unit(name) { return format ~ /nounits/ ? "" : " " name }
function recovery(i) { return bad(i, "recovery") ? "Reset" : bad(i, "recovery-reboot") ? "Reboot" : "None" }

function tag(depth, name, value) { printf "%*s<%s>%s</%s>\n", depth * 4, "", name, value, name }
function open(depth, name) { printf "%*s<%s>\n", depth * 4, "", name }
function close_(depth, name) { printf "%*s</%s>\n", depth * 4, "", name }

function xml(   i) {
  print "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v13.dtd\">\n<nvidia_smi_log>"
  tag(1, "timestamp", now); tag(1, "driver_version", loaded); tag(1, "cuda_version", cuda); tag(1, "attached_gpus", n)
  for (i = 0; i < n; i++) xml_gpu(i)
  print "</nvidia_smi_log>"
}
function xml_gpu(i,   e) {
  e = gpu[i, "ecc"] == "yes"
  format = ""
  printf "    <gpu id=\"%s\">\n", gpu[i, "bus"]
  tag(2, "product_name", gpu[i, "name"]); tag(2, "product_brand", "NVIDIA"); tag(2, "product_architecture", gpu[i, "architecture"])
  tag(2, "persistence_mode", "Enabled")
  open(2, "mig_mode"); tag(3, "current_mig", e ? "Disabled" : "N/A"); tag(3, "pending_mig", e ? "Disabled" : "N/A"); close_(2, "mig_mode")
  tag(2, "mig_devices", "None"); tag(2, "serial", gpu[i, "serial"]); tag(2, "uuid", gpu[i, "uuid"]); tag(2, "minor_number", gpu[i, "index"])
  tag(2, "vbios_version", "96.00.A5.00.03"); tag(2, "gpu_recovery_action", recovery(i)); tag(2, "gsp_firmware_version", loaded)
  open(2, "pci"); tag(3, "pci_device_id", toupper(gpu[i, "device"]) "10DE"); tag(3, "pci_bus_id", gpu[i, "bus"])
  open(3, "pci_gpu_link_info"); open(4, "pcie_gen")
  tag(5, "max_link_gen", 5); tag(5, "current_link_gen", 5); tag(5, "device_current_link_gen", 5); tag(5, "max_device_link_gen", 5); tag(5, "max_host_link_gen", "N/A")
  close_(4, "pcie_gen"); open(4, "link_widths"); tag(5, "max_link_width", "16x"); tag(5, "current_link_width", bad(i, "width") ? "8x" : "16x")
  close_(4, "link_widths"); close_(3, "pci_gpu_link_info"); tag(3, "replay_counter", 0); close_(2, "pci")
  tag(2, "fan_speed", "N/A"); tag(2, "performance_state", "P0")
  open(2, "clocks_event_reasons"); tag(3, "clocks_event_reason_gpu_idle", bad(i, "hot") ? "Not Active" : "Active")
  tag(3, "clocks_event_reason_sw_power_cap", "Not Active"); tag(3, "clocks_event_reason_hw_slowdown", bad(i, "hot") ? "Active" : "Not Active")
  tag(3, "clocks_event_reason_hw_thermal_slowdown", bad(i, "hot") ? "Active" : "Not Active")
  tag(3, "clocks_event_reason_hw_power_brake_slowdown", "Not Active"); tag(3, "clocks_event_reason_sw_thermal_slowdown", "Not Active")
  close_(2, "clocks_event_reasons")
  open(2, "fb_memory_usage"); tag(3, "total", gpu[i, "memory"] " MiB"); tag(3, "reserved", "614 MiB"); tag(3, "used", used(i) " MiB")
  tag(3, "free", (gpu[i, "memory"] - 614 - used(i)) " MiB"); close_(2, "fb_memory_usage")
  tag(2, "compute_mode", "Default")
  open(2, "utilization"); tag(3, "gpu_util", unknown(i, util(i) " %")); tag(3, "memory_util", unknown(i, "0 %")); close_(2, "utilization")
  open(2, "ecc_mode"); tag(3, "current_ecc", e ? "Enabled" : "N/A"); tag(3, "pending_ecc", e ? "Enabled" : "N/A"); close_(2, "ecc_mode")
  open(2, "ecc_errors"); xml_ecc(i, e, "volatile"); xml_ecc(i, e, "aggregate"); close_(2, "ecc_errors")
  open(2, "retired_pages"); tag(3, "pending_retirement", "N/A"); close_(2, "retired_pages")
  if (!e) tag(2, "remapped_rows", "N/A"); else {
    open(2, "remapped_rows"); tag(3, "remapped_row_corr", 0); tag(3, "remapped_row_unc", 0)
    tag(3, "remapped_row_pending", bad(i, "remap") ? "Yes" : "No"); tag(3, "remapped_row_failure", bad(i, "remap-failure") ? "Yes" : "No")
    close_(2, "remapped_rows")
  }
  open(2, "temperature"); tag(3, "gpu_temp", unknown(i, (bad(i, "hot") ? 93 : 31) " C")); tag(3, "gpu_temp_tlimit", unknown(i, (bad(i, "hot") ? -3 : 56) " C"))
  tag(3, "gpu_temp_max_tlimit_threshold", "-8 C"); tag(3, "gpu_temp_slow_tlimit_threshold", "-2 C"); tag(3, "gpu_temp_max_gpu_tlimit_threshold", "0 C")
  tag(3, "memory_temp", unknown(i, "33 C")); close_(2, "temperature")
  open(2, "gpu_power_readings"); tag(3, "average_power_draw", unknown(i, power(i) " W")); tag(3, "instant_power_draw", unknown(i, power(i) " W"))
  tag(3, "current_power_limit", gpu[i, "power"] ".00 W"); close_(2, "gpu_power_readings")
  open(2, "clocks"); tag(3, "sm_clock", "345 MHz"); close_(2, "clocks"); open(2, "max_clocks"); tag(3, "sm_clock", "1980 MHz"); close_(2, "max_clocks")
  open(2, "fabric"); tag(3, "state", "N/A"); tag(3, "status", "N/A"); close_(2, "fabric")
  xml_processes(i)
  print "    </gpu>"
}
function xml_ecc(i, e, kind,   hit) {
  hit = bad(i, "ecc") ? 3 : 0
  open(3, kind)
  tag(4, "sram_correctable", e ? 0 : "N/A"); tag(4, "sram_uncorrectable_parity", e ? 0 : "N/A"); tag(4, "sram_uncorrectable_secded", e ? 0 : "N/A")
  tag(4, "dram_correctable", e ? 0 : "N/A"); tag(4, "dram_uncorrectable", e ? hit : "N/A")
  if (kind == "aggregate") tag(4, "sram_threshold_exceeded", e ? "No" : "N/A")
  close_(3, kind)
}

function csv(   names, total, i, k, line) {
  total = split(fields, names, ",")
  for (k = 1; k <= total; k++) {
    sub(/^ +/, "", names[k])
    if (field(0, names[k]) == "?") { printf "Field \"%s\" is not a valid field to query.\n\n", names[k]; exit 2 }
  }
  if (format !~ /noheader/) { line = names[1]; for (k = 2; k <= total; k++) line = line ", " names[k]; print line }
  for (i = 0; i < n; i++) { line = field(i, names[1]); for (k = 2; k <= total; k++) line = line ", " field(i, names[k]); print line }
}
function help(   known, total, k) {
  print "List of valid properties to query for the switch \"--query-gpu=\":\n"
  total = split("index uuid name serial pci.bus_id pci.device_id driver_version compute_cap persistence_mode pstate memory.total memory.reserved memory.used memory.free utilization.gpu temperature.gpu temperature.gpu.tlimit temperature.memory power.draw power.limit clocks_event_reasons.active clocks_event_reasons.hw_slowdown clocks_event_reasons.hw_thermal_slowdown clocks_event_reasons.hw_power_brake_slowdown clocks_event_reasons.sw_thermal_slowdown clocks_event_reasons_counters.hw_thermal_slowdown clocks_event_reasons_counters.hw_power_brake_slowdown ecc.mode.current ecc.errors.corrected.volatile.total ecc.errors.uncorrected.volatile.total ecc.errors.uncorrected.aggregate.total ecc.errors.uncorrected.aggregate.sram.thresholdExceeded retired_pages.pending remapped_rows.correctable remapped_rows.uncorrectable remapped_rows.pending remapped_rows.failure gpu_recovery_action inforom.checksum_validation pcie.link.gen.current pcie.link.gen.max pcie.link.gen.gpumax pcie.link.gen.hostmax pcie.link.width.current pcie.link.width.max mig.mode.current compute_mode display_active fabric.state fabric.status fabric.health.summary vbios_version", known, " ")
  for (k = 1; k <= total; k++) printf "\"%s\"\n\n", known[k]
}
function table(   i) {
  print now
  print "+-----------------------------------------------------------------------------------------+"
  printf "| NVIDIA-SMI %-22s Driver Version: %-14s CUDA Version: %-9s|\n", loaded, loaded, cuda
  print "+-----------------------------------------+------------------------+----------------------+"
  for (i = 0; i < n; i++) printf "| %3d  %-34s | %-22s | %8dMiB / %6dMiB |\n", i, gpu[i, "name"], gpu[i, "bus"], used(i), gpu[i, "memory"]
  print "+-----------------------------------------+------------------------+----------------------+"
}
END {
  for (i = 0; i < n; i++) if (bad(i, "exit15")) {
    printf "Unable to determine the device handle for GPU%d: %s: GPU is lost.  Reboot the system to recover this GPU\n", i, gpu[i, "bus"]
    exit 15
  }
  if (action == "nvlink") { for (i = 0; i < n; i++) nvlinks(i) }
  else if (action == "list") for (i = 0; i < n; i++) printf "GPU %d: %s (UUID: %s)\n", i, gpu[i, "name"], gpu[i, "uuid"]
  else if (action == "csv") csv()
  else if (action == "apps") apps()
  else if (action == "help") help()
  else if (action == "xml") xml()
  else table()
  if (mode ~ /(^|\n)inforom/) exit 14
}
