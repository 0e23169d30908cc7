/**
 * Time that the holders of locks have to stop when their local server dies, which they notice by the end of the
 * connection. The next server answers no request until this time is over.
 */
export const LOST_GRACE_MS = 5000;
