/**
 * The name of an owner that asks again although its earlier name was released: that release may still be on
 * its way, and would end what is granted since.
 */
export function ownerAgain(owner: string, count: number): string {
  return `${acquisitionOf(owner)}~${count}`;
}

/** What all names of an owner have in common: the one acquisition that they are of. */
export function acquisitionOf(owner: string): string {
  return owner.replace(/~\d+$/, '');
}

/** The count of its name; 0: its first. */
export function nameCountOf(owner: string): number {
  return Number(/~(\d+)$/.exec(owner)?.[1] ?? 0);
}
