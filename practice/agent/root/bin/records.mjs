// Records of a timeline as the worker sends them: null leaves a member unchanged.
import { version } from './settings.mjs';

/** Returns a time with seven digits after the second, as .NET writes it. */
export const timestamp = () => new Date().toISOString().replace('Z', '0000Z');

export const blankRecord = (id) => ({
  id,
  parentId: null,
  type: null,
  name: null,
  startTime: null,
  finishTime: null,
  currentOperation: null,
  percentComplete: null,
  state: null,
  result: null,
  resultCode: null,
  changeId: 0,
  lastModified: '0001-01-01T00:00:00',
  workerName: null,
  log: null,
  details: null,
  errorCount: null,
  warningCount: null,
  location: null,
  attempt: 1,
  identifier: null,
});

/** Returns a record that has begun. */
export const newRecord = (about) => ({
  ...blankRecord(about.id),
  startTime: timestamp(),
  percentComplete: 0,
  state: 'inProgress',
  errorCount: 0,
  warningCount: 0,
  issues: [],
  variables: { 'agent.version': { value: version() } },
  ...about,
});
