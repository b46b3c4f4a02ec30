import { defined } from '../../base/defined.ts';
import { flag, number, sum } from '../values.ts';
import { atLeast, resetGpu, tell } from './judge.ts';
import { family } from './rule.ts';

const replace = 'take it out of service and have it replaced (NVIDIA’s field diagnostics, RMA)';

/** v13 splits the SRAM count into parity and SEC-DED errors; before Ampere there are double-bit errors. */
const uncorrected = [
  'ecc_errors.volatile.sram_uncorrectable',
  'ecc_errors.volatile.sram_uncorrectable_parity',
  'ecc_errors.volatile.sram_uncorrectable_secded',
  'ecc_errors.volatile.dram_uncorrectable',
  'ecc_errors.volatile.double_bit.total',
];

/** Errors of the GPU's memory, and what is done about them. */
export const memory = family({
  read: (gpu) => ({
    ecc: defined({
      uncorrectedVolatile: sum(gpu, ...uncorrected),
      sramThresholdExceeded: flag(gpu, 'ecc_errors.aggregate.sram_threshold_exceeded'),
      /** Before Ampere: a page waits for a reboot to be retired. */
      retirementPending: flag(gpu, 'retired_pages.pending_retirement'),
      /** Since Ampere: a row waits for a reset to be remapped. */
      remapPending: flag(gpu, 'remapped_rows.remapped_row_pending'),
      remapFailure: flag(gpu, 'remapped_rows.remapped_row_failure'),
      remappedUncorrectable: number(gpu, 'remapped_rows.remapped_row_unc'),
    }),
  }),
  rules: [
    {
      code: 'gpu.ecc-uncorrected',
      severity: 'fail',
      when: 'uncorrected errors since the last reset ≥ 1 (SRAM parity, SRAM SEC-DED, DRAM; double-bit before Ampere)',
      source: 'as DCGM does',
      seen: ({ ecc }) =>
        atLeast(ecc.uncorrectedVolatile, 1, 'uncorrected memory error(s) since the last reset'),
      next: resetGpu,
    },
    {
      code: 'gpu.sram-threshold',
      severity: 'fail',
      when: 'SRAM threshold exceeded',
      source: 'NVIDIA’s criterion for replacement',
      seen: ({ ecc }) => tell(ecc.sramThresholdExceeded, 'its SRAM has had more errors than NVIDIA allows'),
      next: replace,
    },
    {
      code: 'gpu.remap-failure',
      severity: 'fail',
      when: 'a row could not be remapped',
      source: 'as DCGM does',
      seen: ({ ecc }) => tell(ecc.remapFailure, 'a bad memory row could not be replaced'),
      next: replace,
    },
    {
      code: 'gpu.remap-pending',
      severity: 'warn',
      when: 'a row waits for a reset to be remapped',
      source: 'as DCGM does',
      seen: ({ ecc }) => tell(ecc.remapPending, 'a bad memory row waits to be replaced at the next reset'),
      next: resetGpu,
    },
    {
      code: 'gpu.retirement-pending',
      severity: 'warn',
      when: 'a page waits for a reboot to be retired (before Ampere)',
      source: 'as DCGM does',
      seen: ({ ecc }) =>
        tell(ecc.retirementPending, 'a bad memory page waits to be retired at the next reboot'),
      next: 'drain and reboot the host',
    },
    {
      code: 'gpu.remapped-rows',
      severity: 'warn',
      when: 'rows remapped after uncorrected errors ≥ 512',
      source: 'as DCGM does',
      seen: ({ ecc }) =>
        atLeast(ecc.remappedUncorrectable, 512, 'memory rows replaced after uncorrected errors'),
      next: 'plan to have it replaced',
    },
  ],
});
