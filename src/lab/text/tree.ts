import type { Outcome } from '../recipe.ts';

/** A position in the text. Both numbers count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export type Block = readonly Statement[];

export type Statement = { readonly place: Place } & (
  | { readonly kind: 'do'; readonly value: Value }
  | { readonly kind: 'assign'; readonly names: readonly string[]; readonly value: Value }
  | { readonly kind: 'transaction'; readonly commands: readonly QueuedCommand[] }
  | {
      readonly kind: 'if';
      readonly condition: Condition;
      readonly then: Block;
      readonly otherwise: Block;
    }
  | LoopStatement
  | { readonly kind: 'leave' }
  | { readonly kind: 'sleep'; readonly durationMs: number }
  | { readonly kind: 'hold'; readonly lease: LeaseLength; readonly body: Block }
  | { readonly kind: 'extend'; readonly lease: LeaseLength }
  | { readonly kind: 'stop'; readonly outcome: Outcome }
);

export interface LoopStatement {
  readonly kind: 'loop';
  readonly place: Place;
  readonly ends: LoopEnd;
  readonly body: Block;
  /**
   * The next pass does not depend on earlier ones, and a second passes between two passes. So the client
   * starts again from its first line, and the search recognises the state and does not expand it again.
   */
  readonly beginsAnew: boolean;
}

export type LoopEnd =
  | { readonly kind: 'until'; readonly condition: Condition }
  | { readonly kind: 'times'; readonly count: number }
  | { readonly kind: 'never' };

/** A command between MULTI and EXEC. Its reply is part of the reply of EXEC. */
export interface QueuedCommand {
  readonly names: readonly string[];
  readonly words: readonly Operand[];
}

export type LeaseLength =
  | { readonly kind: 'for'; readonly durationMs: number }
  | { readonly kind: 'until'; readonly end: Operand }
  | { readonly kind: 'no-end' };

export type Condition =
  | { readonly kind: 'variant'; readonly name: string }
  | {
      readonly kind: 'compare';
      readonly left: Value;
      readonly sign: Sign;
      readonly right: Value;
      readonly place: Place;
    };

export type Sign = '=' | '<' | '<=' | '>' | '>=';

export type Value =
  | { readonly kind: 'command'; readonly words: readonly Operand[] }
  | { readonly kind: 'write'; readonly works: boolean; readonly fence: Operand | undefined }
  | { readonly kind: 'sum'; readonly terms: readonly Term[] };

interface Term {
  readonly operand: Operand;
  readonly factor: 1 | -1;
}

export type Operand = { readonly place: Place } & (
  | { readonly kind: 'constant'; readonly value: string | number | null }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'token' }
  | { readonly kind: 'time' }
);
