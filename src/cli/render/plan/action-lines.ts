import type { Action } from '../../../fleet/steps/change.ts';

/** The exact script or file of an action. */
export function actionLines(action: Action): string[] {
  switch (action.kind) {
    case 'run':
      return [
        `run${action.durable ? ' as a systemd unit' : ''}, at most ${action.timeoutS} s:`,
        ...indented(action.script),
        ...(action.writes.length === 0 ? [] : [`writes in ${action.writes.join(', ')}`]),
      ];
    case 'upload':
      return [
        `write ${action.path} (mode ${action.mode.toString(8)}, sha256 ${action.artifact.sha256.slice(0, 12)})`,
        ...(action.artifact.kind === 'text' && action.artifact.text.length < 8000
          ? indented(action.artifact.text)
          : []),
      ];
    case 'credential':
      return [`write ${action.path} (mode 600): the credential, from memory`];
    case 'registries':
      return [`write ${action.path} (mode 600): users and passwords, from memory`];
    case 'webhook':
      return [`write ${action.path} (mode 600): the address, from memory`];
    case 'deregister':
      return [`delete the agents of owner ${action.owner} from ${action.pools.join(', ')} in Azure DevOps`];
    case 'reboot':
      return [`reboot, and wait at most ${action.timeoutS} s for a new boot id`];
    default:
      return [`wait at most ${action.timeoutS} s until the manager is ready`];
  }
}

function indented(text: string): string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `  ${line}`);
}
