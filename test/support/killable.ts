/** Returns an object whose methods all throw once `owner.over` is set, as if its process had been killed. */
export function killable<T extends object>(target: T, owner: { readonly over: boolean }): T {
  return new Proxy(target, {
    get(object, name) {
      const member: unknown = Reflect.get(object, name, object);
      if (typeof member !== 'function') return member;
      return (...given: readonly unknown[]): unknown => {
        if (owner.over) throw new Error('the process was killed');
        return Reflect.apply(member, object, given);
      };
    },
  });
}
