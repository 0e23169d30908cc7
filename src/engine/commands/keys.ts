import type { CommandTable } from '../command.ts';

export const keys = {} as const satisfies CommandTable;
