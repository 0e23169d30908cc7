/** The store is unreachable, or its reply is no reply of a store. The message says what to do. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}
