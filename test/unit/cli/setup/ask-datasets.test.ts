import { expect, test } from 'vitest';

import { askDatasets } from '../../../../src/cli/setup/agents.ts';
import { startWizard } from '../../../support/wizard-session.ts';

test('each dataset needs its own variable: a duplicate is refused', async () => {
  const { wizard } = startWizard();
  const refused: (string | undefined)[] = [];
  const offered: (string | undefined)[] = [];
  const prompts = {
    answers: () => false,
    chooseMany: async () => ['/data/imagenet', '/scratch/imagenet'],
    confirm: async () => true,
    text: async (key: string, _question: string, options: Parameters<typeof wizard.prompts.text>[2]) => {
      if (key === 'datasets') return '';
      refused.push(await options?.check?.('IMAGENET'), await options?.check?.('imagenet'));
      offered.push(options?.default);
      return options?.default ?? '';
    },
  } as unknown as typeof wizard.prompts;
  const datasets = await askDatasets({ ...wizard, prompts }, ['/data/imagenet', '/scratch/imagenet']);
  expect(offered).toEqual(['IMAGENET', 'IMAGENET_2']);
  const capital = 'Capital letters, digits and _, e.g. IMAGENET';
  expect(refused).toEqual([undefined, capital, 'Taken', capital]);
  expect(datasets.map(({ name }) => name)).toEqual(offered);
});
