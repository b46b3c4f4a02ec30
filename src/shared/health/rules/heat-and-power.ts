import { defined } from '../../base/defined.ts';
import { flag, number } from '../values.ts';
import type { XmlElement } from '../xml.ts';
import { tell } from './judge.ts';
import { family } from './rule.ts';

const cooling = 'check air flow, dust, fans and the room';

/** Too hot, or slowed down by heat or power. */
export const heatAndPower = family({
  read: (gpu) => ({ thermal: temperatures(gpu), slowdown: slowdowns(gpu) }),
  rules: [
    {
      code: 'gpu.hot',
      severity: 'warn',
      when: 'margin ≤ 0 °C; or at the highest operating temperature, of GPU or memory',
      source: 'the card’s own limits',
      seen: ({ thermal }) => tooHot(thermal),
      next: cooling,
    },
    {
      code: 'gpu.slowed-heat',
      severity: 'warn',
      when: 'a slowdown by heat is active now',
      source: 'one sample',
      seen: ({ slowdown }) =>
        tell(
          slowdown.hardwareThermal === true || slowdown.softwareThermal === true,
          'it is slowed down because of heat',
        ),
      next: cooling,
    },
    {
      code: 'gpu.slowed-power',
      severity: 'warn',
      when: 'the power brake is active now',
      source: 'one sample',
      seen: ({ slowdown }) => tell(slowdown.powerBrake, 'it is slowed down by the power brake'),
      next: 'check power supplies and cables',
    },
    {
      code: 'gpu.slowed',
      severity: 'warn',
      when: 'another slowdown by its hardware is active now',
      source: 'one sample',
      seen: ({ slowdown }) =>
        tell(
          slowdown.hardware === true && slowdown.hardwareThermal !== true && slowdown.powerBrake !== true,
          'its hardware slows it down',
        ),
      next: 'check power and cooling',
    },
  ],
});

/** °C throughout. */
function temperatures(gpu: XmlElement) {
  return defined({
    gpuC: number(gpu, 'temperature.gpu_temp'),
    memoryC: number(gpu, 'temperature.memory_temp'),
    /** Margin to the highest operating temperature; 0 or less is too hot. */
    marginC: number(gpu, 'temperature.gpu_temp_tlimit'),
    /** The highest operating temperature where the card gives absolute limits. */
    maxGpuC: number(gpu, 'temperature.gpu_temp_max_gpu_threshold'),
    maxMemoryC: number(gpu, 'temperature.gpu_temp_max_mem_threshold'),
  });
}

/** Until driver 525 the events were called throttle reasons. */
function slowdowns(gpu: XmlElement) {
  const reason = (name: string): boolean | undefined =>
    flag(
      gpu,
      `clocks_event_reasons.clocks_event_reason_${name}`,
      `clocks_throttle_reasons.clocks_throttle_reason_${name}`,
    );
  return defined({
    hardware: reason('hw_slowdown'),
    hardwareThermal: reason('hw_thermal_slowdown'),
    powerBrake: reason('hw_power_brake_slowdown'),
    softwareThermal: reason('sw_thermal_slowdown'),
  });
}

function tooHot(thermal: ReturnType<typeof temperatures>): string | undefined {
  const { gpuC, maxGpuC, marginC, memoryC, maxMemoryC } = thermal;
  if (marginC !== undefined && marginC <= 0) return `${gpuC ?? '?'} °C, ${-marginC} above its limit`;
  if (gpuC !== undefined && maxGpuC !== undefined && gpuC >= maxGpuC)
    return `${gpuC} °C, its limit is ${maxGpuC}`;
  const memory = memoryC !== undefined && maxMemoryC !== undefined && memoryC >= maxMemoryC;
  return tell(memory, `its memory has ${memoryC} °C, the limit is ${maxMemoryC}`);
}
