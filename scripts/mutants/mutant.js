/** A planted bug of one edit. */
export function mutant(name, file, find, replace, tests = []) {
  return { name, edits: [{ file, find, replace }], tests };
}

/** A planted bug that needs more than one edit, each `[file, find, replace]`. */
export function mutantOf(name, edits, tests = []) {
  return { name, edits: edits.map(([file, find, replace]) => ({ file, find, replace })), tests };
}

/** One that the lab finds only if it looks longer in one place. */
export function rare(scenario, hidden) {
  return { ...hidden, scenario };
}
