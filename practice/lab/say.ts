const start = Date.now();

/** Prints progress; a caller with its own display replaces `report`. */
export const progress = {
  report: (line: string, seconds: number): void => {
    process.stdout.write(`[lab ${String(seconds).padStart(3)} s] ${line}\n`);
  },
};

/** One line of progress. */
export function say(line: string): void {
  progress.report(line, Math.round((Date.now() - start) / 1000));
}
