import type { CommandTable } from '../command.ts';

export const expiry = {} as const satisfies CommandTable;
