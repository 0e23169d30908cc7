import { parseInteger } from './number.ts';

/** Where the keys stand of a command that says how many there are (`LMPOP 2 a b LEFT`) at `countAt`. */
export function countedKeys(countAt: number): (argv: readonly string[]) => number[] {
  return (argv) => {
    const count = parseInteger(argv[countAt] ?? '');
    if (typeof count !== 'number' || count < 1 || countAt + count >= argv.length) return [];
    return Array.from({ length: count }, (_, at) => countAt + 1 + at);
  };
}
