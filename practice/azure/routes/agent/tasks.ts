import { list, ok, refusal, type FakeCall, type Reply, type Route } from '../../http/reply.ts';
import {
  scriptTask,
  scriptTaskArchive,
  scriptTaskDefinition,
  scriptTaskVersionText,
} from '../../world/job/script-task.ts';

function missing(id: string): Reply {
  return refusal(404, 'TaskDefinitionNotFoundException', `No task definition found matching ID ${id}.`);
}

/** The definition as JSON, or what the agent unpacks and runs, as the Accept header says. */
function task({ accept }: FakeCall, id = '', version = ''): Reply {
  if (id.toLowerCase() !== scriptTask.id || version !== scriptTaskVersionText)
    return missing(`${id} and version ${version}`);
  if (!accept.includes('application/zip')) return ok(scriptTaskDefinition);
  return { status: 200, content: { type: 'application/zip', bytes: scriptTaskArchive() } };
}

/** Tasks that agents download: the one that runs the script of a job. */
export const taskRoutes: readonly Route[] = [
  ['GET', /^\/_apis\/distributedtask\/tasks$/iu, () => list([scriptTaskDefinition])],
  [
    'GET',
    /^\/_apis\/distributedtask\/tasks\/([^/]+)$/iu,
    (_call, id = '') => (id.toLowerCase() === scriptTask.id ? list([scriptTaskDefinition]) : missing(id)),
  ],
  ['GET', /^\/_apis\/distributedtask\/tasks\/([^/]+)\/([^/]+)$/iu, task],
];
