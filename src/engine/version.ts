/**
 * The version of Redis whose behaviour is offered. Clients decide by it which commands and options
 * they use, so HELLO and INFO name it, with `redis` as the server.
 */
export const REDIS_VERSION = '7.0.15';
export const HOLDFAST_VERSION = '0.1.0';
