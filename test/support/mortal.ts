/** An object whose methods all throw once the life is over, as if its process had been killed: the outside hears no more. */
export function mortal<T extends object>(target: T, life: { readonly over: boolean }): T {
  return new Proxy(target, {
    get(object, name) {
      const member: unknown = Reflect.get(object, name, object);
      if (typeof member !== 'function') return member;
      return (...given: readonly unknown[]): unknown => {
        if (life.over) throw new Error('the process was killed');
        return Reflect.apply(member, object, given);
      };
    },
  });
}
