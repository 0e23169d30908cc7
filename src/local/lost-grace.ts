/**
 * Who holds a lock of a local server that died learns of it by the end of the connection, and has so long
 * to stop what it does. The next server answers nobody before.
 */
export const LOST_GRACE_MS = 5000;
