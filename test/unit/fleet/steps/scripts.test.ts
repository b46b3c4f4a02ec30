import { describe, expect, it } from 'vitest';

import { dockerStep } from '../../../../src/fleet/steps/docker/step.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';

describe('the scripts for hosts', () => {
  it('quote what comes from the inventory', () => {
    const mirrors = { docker: "http://mirror/it's; touch /tmp/owned" };
    const [source] = [...dockerStep.plan(factsOf(), desiredOf({}, { mirrors }))];
    const script =
      source !== undefined && 'actions' in source && source.actions[0]?.kind === 'run'
        ? source.actions[0].script
        : '';
    const outside = script.replaceAll(/'(?:[^']|'\\'')*'/g, '');
    expect(script).toContain('touch /tmp/owned');
    expect(outside).not.toContain('touch');
  });
});
