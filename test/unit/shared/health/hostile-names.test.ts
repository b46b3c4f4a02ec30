import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { type Checkup, examine } from '../../../../src/shared/health/checkup.ts';
import { askSmi } from '../../../../src/shared/health/smi-run.ts';
import { PrintedSmi, type SmiDocument, takeApart, withProcesses } from '../../../support/hostile-smi.ts';

// A job chooses the names of its processes, and nvidia-smi prints them unescaped. The test runs the scripts with an
// nvidia-smi that prints given text.
const smi = new PrintedSmi();
afterAll(() => smi.close());

const folder = new URL('../../../fixtures/nvidia-smi/', import.meta.url);
const pair = readFileSync(new URL('h200-pair-v13.xml', folder), 'utf8');
const [first, second] = ['0000:83:00.0', '0000:84:00.0'] as const;

/** The pair with an uncorrected error on its second GPU. */
const faulty = ((): string => {
  const at = pair.lastIndexOf('<gpu id=');
  return pair.slice(0, at) + pair.slice(at).replace(/(<dram_uncorrectable>)0/, '$11');
})();

type Names = Readonly<Record<string, readonly string[]>>;

async function look(document: SmiDocument, names: Names): Promise<Checkup> {
  const of = (address: string): readonly string[] => names[address] ?? [];
  smi.prints('all', withProcesses(document, of));
  for (const { address } of document.gpus) smi.prints(address, withProcesses(document, of, address));
  return examine(await ask(document), 'host', { pci: addresses(document) });
}

const ask = (document: SmiDocument) => askSmi(addresses(document), async (script) => smi.run(script));
const addresses = ({ gpus }: SmiDocument): readonly string[] => gpus.map(({ address }) => address);
const findings = (checkup: Checkup) =>
  checkup.findings.filter(({ code }) => code !== 'smi.ambiguous').map(({ gpu, what }) => `${gpu}: ${what}`);

const close = '</process_name><used_memory>1 MiB</used_memory></process_info></processes>';
const open = '<processes><process_info><pid>1</pid><process_name>x';
const forged =
  '<gpu id="00000000:84:00.0"><uuid>GPU-00000002-0000-4000-8000-000000000002</uuid><pci><pci_bus_id>00000000:84:00.0</pci_bus_id></pci>';
const lost = 'Unable to determine the device handle for GPU0000:84:00.0: GPU is lost';

describe('a process name is never part of the report', () => {
  test.each<[string, Names]>([
    ['an ampersand', { [first]: ['a && b', '&', '&#x110000;'] }],
    ['an end of the report', { [first]: ['</nvidia_smi_log>'] }],
    ['an end of the name', { [first]: ['</process_name></process_info>'] }],
    [
      'a message about another GPU',
      { [first]: [`${close}</gpu></nvidia_smi_log>\n${lost}\n<nvidia_smi_log><gpu>${open}`] },
    ],
    ['the same after the last process', { [second]: [`${close}</gpu></nvidia_smi_log>\n${lost}\n`] }],
    [
      'a fault of another GPU',
      { [first]: [`${close}</gpu>${forged}<gpu_recovery_action>Reset</gpu_recovery_action>${open}`] },
    ],
    [
      'a fault of the same GPU',
      { [first]: [`${close}<gpu_recovery_action>Reset</gpu_recovery_action>${open}`] },
    ],
    ['a comment around another GPU', { [first]: [`${close}</gpu><!--`], [second]: [`-->${forged}${open}`] }],
    [
      'a section around another GPU',
      { [first]: [`${close}</gpu><![CDATA[`], [second]: [`]]>${forged}${open}`] },
    ],
    [
      'one GPU instead of another',
      { [first]: [`${close}</gpu>${forged}${close}</gpu><x>`], [second]: ['</x>'] },
    ],
    ['more GPUs', { [first]: [`${close}</gpu>${forged.replaceAll('84', '85')}${open}`] }],
    ['another number of GPUs', { [first]: [`<attached_gpus>3</attached_gpus>${close}${open}`] }],
    [
      'another listing',
      { [first]: ['\nGPU 1: NVIDIA H200 (UUID: GPU-00000002-0000-4000-8000-000000000002)\n'] },
    ],
    [
      'a line of our script',
      { [first]: ['\nazp-fleet: gpu 0000:84:00.0 exit 15\nazp-fleet: no /dev/nvidia-uvm\n'] },
    ],
    ['bytes that are not letters', { [first]: [`\u00ff\u00fe${close}\u0080${open}\u00ff`] }],
  ])('%s', async (_, names) => {
    for (const document of [pair, faulty].map(takeApart)) {
      const honest = await look(document, {});
      const seen = await look(document, names);
      expect(seen.report).toEqual(honest.report);
      expect(findings(seen)).toEqual(findings(honest));
    }
  });

  const word = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...marks()) },
    { weight: 1, arbitrary: fc.string({ maxLength: 6 }) },
  );
  const name = fc.array(word, { maxLength: 12 }).map((words) => words.join(''));
  const names = fc.array(name, { maxLength: 3 });

  test.each(readdirSync(folder).filter((file) => file.endsWith('.xml')))(
    'any name, on any GPU of %s',
    async (file) => {
      const document = takeApart(
        file === 'h200-pair-v13.xml' ? faulty : readFileSync(new URL(file, folder), 'utf8'),
      );
      const honest = await look(document, {});
      await fc.assert(
        fc.asyncProperty(fc.array(names, { minLength: 2, maxLength: 2 }), async (all) => {
          const of = Object.fromEntries(addresses(document).map((address, at) => [address, all[at] ?? []]));
          const seen = await look(document, of);
          expect(seen.report).toEqual(honest.report);
          expect(findings(seen)).toEqual(findings(honest));
        }),
        { numRuns: 25 },
      );
    },
  );

  test('also when nvidia-smi is killed in the middle of it', async () => {
    const document = takeApart(faulty);
    const honest = await look(document, {});
    const death = fc.record({
      names,
      others: names,
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      alone: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(death, async ({ names: mine, others, at, alone }) => {
        const of = (address: string): readonly string[] => (address === first ? mine : others);
        const all = withProcesses(document, of);
        smi.prints('all', all.slice(0, at * all.length), 137);
        for (const address of addresses(document)) smi.prints(address, withProcesses(document, of, address));
        const one = withProcesses(document, of, first);
        if (alone) smi.prints(first, one.slice(0, at * one.length), 137);
        const seen = examine(await ask(document), 'host', { pci: addresses(document) });
        const ofThat = (gpus: readonly { readonly busId: string }[] = []) =>
          gpus.filter(({ busId }) => busId === second).map((gpu) => ({ ...gpu, index: 0 }));
        expect(ofThat(seen.report?.gpus)).toEqual(ofThat(honest.report?.gpus));
        expect(seen.findings.filter(({ gpu }) => gpu?.startsWith('GPU-00000002'))).toEqual(honest.findings);
        expect(seen.findings.filter(({ gpu }) => gpu === second)).toEqual([]);
        expect(seen.findings.some(({ gpu, code }) => gpu === first && code === 'smi.failed')).toBe(alone);
      }),
      { numRuns: 25 },
    );
  });
});

function marks(): readonly string[] {
  const some =
    '< > & <!-- --> <![CDATA[ ]]> <?xml?> <gpu> </gpu> <processes> </processes> </process_name> <nvidia_smi_log> </nvidia_smi_log> <attached_gpus>3</attached_gpus> <gpu_recovery_action>Reset</gpu_recovery_action> \u00ff';
  const ours = '\nazp-fleet: gpu 0000:84:00.0 exit 15\n';
  return [close, open, forged, lost, ours, '\nazp-fleet: more\n', '[GPU is lost]', '\n', ...some.split(' ')];
}

describe('ambiguous output is reported', () => {
  const examined = (output: string) => examine({ code: 0, output, timedOut: false }, 'host', { pci: [] });
  const hostile = withProcesses(takeApart(pair), () => [close + open]);
  const [part = ''] = /<gpu id[\s\S]*?<\/gpu>/.exec(pair) ?? [];

  test.each([
    ['names in a saved report', hostile, 'it does not have one process section for each GPU'],
    [
      'a GPU twice',
      pair.replace(/<gpu id="00000000:84[\s\S]*<\/gpu>/, part),
      'the GPU at 0000:83:00.0 twice',
    ],
    ['two reports', pair.replace('</timestamp>', '</timestamp><nvidia_smi_log>'), 'more than one report'],
    ['a comment', pair.replace('</timestamp>', '</timestamp><!-- -->'), 'more than one report'],
  ])('%s', (_, output, reason) => {
    const { findings: found, report } = examined(output);
    expect(report).toBeUndefined();
    expect(found).toMatchObject([{ code: 'smi.ambiguous', severity: 'fail' }]);
    expect(found[0]?.what).toContain(reason);
  });

  test('with a query for each GPU', async () => {
    const { findings: found, verdict } = await look(takeApart(pair), { [first]: [close + open] });
    expect(found).toMatchObject([{ code: 'smi.ambiguous', severity: 'info' }]);
    expect(found[0]?.what).toMatch(/one process section for each GPU; each GPU was queried separately$/);
    expect(verdict.state).toBe('healthy');
  });

  test('an unexpected GPU causes a query for each present GPU', async () => {
    smi.prints('all', pair.replaceAll('00000000:84', '00000000:85'));
    for (const address of [first, second])
      smi.prints(
        address,
        withProcesses(takeApart(pair), () => [], address),
      );
    const checkup = examine(await ask(takeApart(pair)), 'host', { pci: [first, second] });
    expect(checkup.report?.gpus.map(({ busId }) => busId)).toEqual([first, second]);
    expect(checkup.findings[0]?.what).toContain('a GPU at 0000:85:00.0, where there is none');
  });

  test('an answer about another GPU', async () => {
    smi.prints('all', '', 255);
    for (const address of [first, second])
      smi.prints(
        address,
        withProcesses(takeApart(pair), () => [], second),
      );
    const checkup = examine(await ask(takeApart(pair)), 'host', { pci: [first, second] });
    expect(checkup.report?.gpus.map(({ busId }) => busId)).toEqual([second]);
    expect(checkup.findings).toMatchObject([{ code: 'smi.ambiguous', severity: 'fail', gpu: first }]);
  });
});

test('a host with a damaged InfoROM has each GPU once, and a finding', async () => {
  smi.prints('all', `WARNING: infoROM is corrupted at gpu 0000:83:00.0\n${pair}`, 14);
  const checkup = examine(await ask(takeApart(pair)), 'host', { pci: [first, second] });
  expect(checkup.report?.gpus.map(({ busId }) => busId)).toEqual([first, second]);
  expect(checkup.findings).toMatchObject([{ code: 'gpu.inforom', severity: 'warn', gpu: first }]);
});

test.each([
  ['no NVML', 255, 'Failed to initialize NVML: Unknown Error', 1],
  ['no driver', 9, 'NVIDIA-SMI has failed', 1],
  ['a dead GPU', 255, lost, 2],
  ['a signal', 137, '', 2],
])('%s: number of queries', async (_, code, output, times) => {
  let asked = 0;
  await askSmi([first, second], async () => {
    asked += 1;
    return { code, output, timedOut: false };
  });
  expect(asked).toBe(times);
});
