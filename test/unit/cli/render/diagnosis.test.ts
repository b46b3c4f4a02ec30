import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { diagnose } from '../../../../src/cli/diagnose/saved.ts';
import { diagnosisText } from '../../../../src/cli/commands/diagnose.ts';

const plain = { width: 80, paint: (_: unknown, text: string) => text };

test('each file is shown with what was recognized, and its findings', async () => {
  const files = {
    'dmesg.txt': '[   12.000001] NVRM: Xid (PCI:0000:9b:00): 54, cable',
    'quiet.txt': 'kern  :info  : [Fri Nov 27 21:04:14 2026] Linux version 6.1.0',
    'gpus.txt': readFileSync('test/fixtures/nvidia-smi/h200-pair-query.txt', 'utf8'),
    'package.json': '{}',
  };
  const named = [];
  for (const [file, text] of Object.entries(files))
    named.push({ file, ...(await diagnose(Readable.from([Buffer.from(text)]))) });
  expect(diagnosisText(named, plain)).toBe(`dmesg.txt: dmesg: 1 line of the kernel log
✗ dmesg.txt: GPU 0000:9b:00.0: XID 54 in the kernel log: auxiliary power is not
  connected [xid.54]
  next  check the power cables and the card

✓ quiet.txt: no problems (dmesg -T: 1 line of the kernel log)

✓ gpus.txt: no problems (nvidia-smi -q: driver 595.84, 2× NVIDIA H200)

✗ package.json: neither output of nvidia-smi nor a kernel log
  next  save it with plain \`dmesg\` or \`journalctl -k\`, or the GPUs with
        \`nvidia-smi -q -x\`
`);
});
