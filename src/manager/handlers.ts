import type { ManagerStatus } from '../shared/contract/status.ts';
import { everySlot, withAdopted, withDrain, withoutDrain } from './slots/drains.ts';
import { FleetError } from '../shared/base/errors.ts';
import { diagnosticsText, newestFirst } from './runs/run-store.ts';
import { checkNames } from './slots/resolve.ts';
import { withoutRejections } from './image/choice.ts';
import { Labels } from '../shared/contract/paths.ts';
import { workHere, type WorkHere, type WorkPlaces } from './machine/at-work.ts';
import type { ControlHandlers } from './serve/control.ts';
import type { Manager } from './manager.ts';
import type { Watches } from './watches.ts';
import type { ManagerTools } from './manager-tools.ts';
import type { Messenger } from './webhook/messenger.ts';

/** What the control socket does, on the running daemon. */
export function controlHandlers(
  tools: ManagerTools,
  manager: Manager,
  watches: Pick<Watches, 'renewImage' | 'gpus' | 'lookSoon' | 'pools'>,
  status: () => ManagerStatus,
  wake: () => void,
  messenger: Pick<Messenger, 'test'>,
  places: WorkPlaces,
): ControlHandlers {
  const known = (): readonly string[] => manager.slots().map(({ name }) => name);
  const changed = (): ManagerStatus => {
    watches.pools.lookSoon();
    wake();
    return status();
  };
  return {
    status,
    async runs(slot, limit) {
      const slots = slot === undefined ? await tools.runStore.slots() : [slot];
      const lists = await Promise.all(slots.map((name) => tools.runStore.list(name, limit)));
      return lists.flat().sort(newestFirst);
    },
    async logs(slot, tail) {
      const [container] = await tools.engine.listOwn({ [Labels.kind]: 'agent', [Labels.slot]: slot });
      if (container !== undefined) return tools.engine.logs(container.id, tail);
      const [last] = await tools.runStore.list(slot, 1);
      return last === undefined ? '' : `${last.log.slice(-tail).join('\n')}\n`;
    },
    async diagnostics(slot, run) {
      if (!(await tools.runStore.slots()).includes(slot)) checkNames([slot], known());
      const kept = await tools.runStore.diagnostics(slot, run);
      if (kept === undefined) throw noDiagnostics(slot, run);
      return diagnosticsText(kept.run, kept.files);
    },
    async drain(order) {
      await tools.state.update((state) => ({
        drain: withDrain(state.drain, order, known(), tools.clock.wall()),
      }));
      tools.log.log('info', 'drain', { ...order });
      return changed();
    },
    async undrain(order) {
      const isOfAll = order.run === undefined && !order.hostOnly && order.slots.length === 0;
      // A run that is at work, or has left a change at work, has drained the host for that.
      if (isOfAll && tools.state.value.drain.provision !== undefined) {
        const work = await workHere(places, tools.command);
        if (work !== undefined) throw besideWork(work);
      }
      await tools.state.update((state) => ({ drain: withoutDrain(state.drain, order, known()) }));
      tools.log.log('info', 'undrain', { ...order });
      return changed();
    },
    async adopt({ slots }) {
      checkNames(slots, known());
      const names = slots.length === 0 ? [everySlot] : slots;
      await tools.state.update(({ adopt }) => ({ adopt: withAdopted(adopt, names) }));
      tools.log.log('info', 'adopt', { slots: names });
      manager.retryNames(slots.length === 0 ? known() : slots);
      return changed();
    },
    async repaired({ gpu }) {
      await watches.gpus.repaired(gpu);
      tools.log.log('info', 'repaired', { gpu });
      watches.lookSoon();
      return changed();
    },
    async testWebhook() {
      await messenger.test();
      return { taken: true };
    },
    async renewImage({ fresh }) {
      tools.log.log('info', 'the agent image is asked for', { fresh });
      await tools.state.note(withoutRejections);
      watches.renewImage(fresh);
      return status();
    },
  };
}

function besideWork({ what, next }: WorkHere): FleetError {
  return new FleetError({
    code: 'drain.at-work',
    what: `${what}; jobs would start beside it, and the agents stay drained`,
    next,
  });
}

function noDiagnostics(slot: string, run: string | undefined): FleetError {
  return new FleetError({
    code: 'runs.no-diagnostics',
    what:
      run === undefined
        ? `no agent logs are kept of slot ${slot}`
        : `no agent logs are kept of run ${run} of slot ${slot}`,
    expected: 'one of the last five failed runs of the slot',
    next: 'see the runs of the slot and which of them have logs: azp-fleet logs HOST/SLOT --runs',
  });
}
