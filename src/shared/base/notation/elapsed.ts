/** `40 s`, `12 min 40 s`, `2 h 10 min`. */
export function elapsed(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const minutes = Math.floor(seconds / 60);
  const parts =
    minutes >= 60
      ? [`${Math.floor(minutes / 60)} h`, minutes % 60 === 0 ? '' : `${minutes % 60} min`]
      : [minutes === 0 ? '' : `${minutes} min`, minutes > 0 && seconds % 60 === 0 ? '' : `${seconds % 60} s`];
  return parts.filter(Boolean).join(' ');
}
