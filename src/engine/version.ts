/**
 * The version of Redis that the engine implements. Clients choose commands and options by it, so that HELLO and INFO
 * return it, with `redis` as the server.
 */
export const REDIS_VERSION = '7.0.15';
export const HOLDFAST_VERSION = '0.1.0';
