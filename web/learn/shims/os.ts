/** INFO shows it. A page does not know the memory of its machine. */
export function totalmem(): number {
  return 0;
}

/** Holders of locks are shown with it. */
export function hostname(): string {
  return 'browser';
}
