/**
 * Where a random test begins: somewhere new on a developer's machine, so that every run looks further; at a
 * fixed place in CI, so that what it says of a change depends on the change alone.
 */
export function newSeed(): string {
  return process.env['CI'] ? '1' : String(Date.now() % 2 ** 31);
}
