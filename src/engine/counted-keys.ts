/** Where the keys stand of a command that says how many there are (`LMPOP 2 a b LEFT`) at `countAt`. */
export function countedKeys(countAt: number): (argv: readonly string[]) => number[] {
  return (argv) => {
    // As C reads it: digits up to the first char that is none. No count has more than 32 of them.
    const count = Number.parseInt(argv[countAt]?.slice(0, 32) ?? '', 10);
    if (!(count >= 1) || countAt + count >= argv.length) return [];
    return Array.from({ length: count }, (_, at) => countAt + 1 + at);
  };
}
