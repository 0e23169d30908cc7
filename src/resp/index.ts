export * from './reply.ts';
