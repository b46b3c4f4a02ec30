/** MiB. A limit is a multiple of this: a new kernel that leaves some MiB less changes nothing. */
const step = 256;
/** MiB. With less no job checks anything out. */
const least = 1024;

/**
 * MiB that each of so many slots may use unless `limits.memory` says otherwise: an equal part of what is left when a
 * sixteenth (2 GiB at least, 32 GiB at most) is kept for the system, Docker and the cache of the datasets' files. The
 * manager holds runs to it and the plan tells it, from `MemTotal` both. Undefined: there is no slot, or the machine does not
 * tell its memory. Pure.
 */
export function memoryShare(hostMiB: number, slots: number): number | undefined {
  if (!(hostMiB > 0) || slots < 1) return undefined;
  const kept = Math.min(Math.max(hostMiB / 16, 2048), 32 * 1024);
  const part = Math.floor((hostMiB - kept) / slots / step) * step;
  return Math.max(part, least);
}

/** Of a slot for which nothing is said; Docker's own default. */
const equalShare = 1024;

/**
 * CPU shares of a slot: what counts when more is wanted than there is, and nothing before. `cpus` is how many it then has
 * if every other slot has its equal part of the machine's; undefined: an equal part. Within Docker's bounds. Pure.
 */
export function cpuShares(cpus: number | undefined, machineCpus: number, slots: number): number {
  if (cpus === undefined || machineCpus < 1) return equalShare;
  const shares = Math.round((equalShare * cpus * slots) / machineCpus);
  return Math.min(Math.max(shares, 2), 262_144);
}

/** `58.75 GiB` */
export function gibText(mib: number): string {
  return `${Number((mib / 1024).toFixed(2))} GiB`;
}
