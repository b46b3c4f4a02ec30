import { expect, test } from 'vitest';
import { diagnose } from '../../../../src/shared/health/checkup.ts';
import { diagnosisText } from '../../../../src/cli/commands/diagnose.ts';

const plain = { width: 80, paint: (_: unknown, text: string) => text };

test('each file is shown with its kind and its findings', () => {
  const files = {
    'dmesg.txt': 'NVRM: Xid (PCI:0000:9b:00): 54, cable',
    'quiet.txt': 'Linux version 6.1',
    'package.json': '{}',
  };
  const named = Object.entries(files).map(([file, text]) => ({ file, ...diagnose(text) }));
  expect(diagnosisText(named, plain))
    .toBe(`✗ dmesg.txt: GPU 0000:9b:00.0: XID 54 in the kernel log: auxiliary power is not
  connected [xid.54]
  next  check the power cables and the card

✓ quiet.txt: no problems (kernel-log)

? package.json: neither \`nvidia-smi -q -x\` nor a kernel log
`);
});
