import { describe, expect, test } from 'vitest';

import { dockerfileMistake } from '../../../../src/fleet/artifacts/dockerfile.ts';

describe('a Dockerfile on top of the agent image', () => {
  test.each([
    'ARG BASE\nFROM ${BASE}\nRUN true\n',
    'ARG BASE=ubuntu:24.04\nFROM $BASE\n',
    'arg BASE\nfrom ${BASE:-ubuntu} as final\n',
    '# syntax=docker/dockerfile:1\n\n# what we need\nARG PYTHON=3.12\nARG BASE\nFROM --platform=linux/amd64 ${BASE}\n',
    'ARG BASE\nFROM golang:1.23 AS tools\nRUN go install x\nFROM ${BASE}\nCOPY --from=tools /x /x\n',
    'ARG BASE\nFROM ${BASE} AS Agent\nRUN a\nFROM agent\nRUN b\n',
    'ARG \\\n  BASE\nFROM \\\n# between\n  ${BASE}\n',
    '# escape=`\r\nARG BASE\r\nFROM `\r\n  ${BASE}\r\n',
  ])('%j can be built', (text) => {
    expect(dockerfileMistake(text)).toBeUndefined();
  });

  test.each([
    ['', 'it has no FROM', 'nothing'],
    ['RUN true\n', 'it has no FROM', undefined],
    ['FROM ${BASE}\n', 'it does not take the image to build on', 'no ARG BASE before the first FROM'],
    [
      'FROM ubuntu\nARG BASE\n',
      'it does not take the image to build on',
      'no ARG BASE before the first FROM',
    ],
    [
      'ARG BASEMENT\nFROM ${BASE}\n',
      'it does not take the image to build on',
      'no ARG BASE before the first FROM',
    ],
    ['ARG BASE\nFROM ubuntu\n', 'its image is not built on the agent image', 'FROM ubuntu'],
    [
      'ARG BASE\nFROM ${BASE} AS a\nFROM ubuntu\nCOPY --from=a /x /x\n',
      'its image is not built on the agent image',
      'FROM ubuntu',
    ],
    ['ARG BASE\nFROM ubuntu AS b\nFROM b\n', 'its image is not built on the agent image', 'FROM b'],
    ['ARG BASE\nFROM loop AS loop\n', 'its image is not built on the agent image', 'FROM loop'],
  ])('%j is refused', (text, what, seen) => {
    expect(dockerfileMistake(text)).toEqual({
      what,
      expected: 'ARG BASE\nFROM ${BASE}\nUSER root\nRUN …',
      ...(seen === undefined ? {} : { seen }),
      next: 'begin its last stage with FROM ${BASE}, and write ARG BASE above the first FROM',
    });
  });
});
