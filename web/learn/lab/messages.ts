import type {
  CheckName,
  TraceStep,
  Verdict,
  Violation,
  WorldOptions,
} from '../../../src/lab/index.ts';

/** A recipe of the gallery, or one that the reader has written. */
export type RecipeSource =
  | { readonly kind: 'gallery'; readonly recipe: string; readonly variant: string }
  | { readonly kind: 'text'; readonly text: string; readonly variant?: string };

export type WorldChange = Partial<WorldOptions>;

/** What a page asks of its worker. `id` comes back with the answer. */
export type Request = { readonly id: number } & (
  | {
      readonly kind: 'replay';
      readonly source: RecipeSource;
      readonly world: WorldChange;
      readonly schedule: string;
    }
  | { readonly kind: 'search'; readonly source: RecipeSource; readonly world: WorldChange }
  | { readonly kind: 'command'; readonly client: string; readonly line: string }
  | { readonly kind: 'wait'; readonly durationMs: number }
  | { readonly kind: 'clear' }
);

export type Answer =
  | {
      readonly id: number;
      readonly kind: 'progress';
      readonly states: number;
      readonly seconds: number;
    }
  | { readonly id: number; readonly kind: 'done'; readonly result: unknown }
  | { readonly id: number; readonly kind: 'failed'; readonly fault: Fault };

/** An error of a recipe, with its place in the text if it has one. */
export interface Fault {
  readonly message: string;
  readonly line: number | null;
  readonly column: number | null;
}

/** One run, as plain data. */
export interface Run {
  readonly names: readonly string[];
  readonly variants: readonly string[];
  readonly schedule: string;
  /** How the schedule writes each step. */
  readonly labels: readonly string[];
  readonly trace: readonly TraceStep[];
  readonly lines: readonly (number | null)[];
  readonly violations: readonly Violation[];
  readonly next: readonly string[];
}

/** The result of a search, as plain data. */
export interface SearchResult {
  readonly verdicts: readonly Verdict[];
  readonly keepsPromises: boolean;
  readonly isComplete: boolean;
  readonly states: number;
  readonly interleavings: bigint;
  readonly failingChance: number | null;
  readonly seconds: number;
  readonly world: WorldOptions;
  readonly failure: { readonly check: CheckName; readonly schedule: string } | null;
}

/** What the console shows after a command or a wait: replies that came now, by client. */
export interface ConsoleReply {
  readonly client: string;
  readonly text: string;
}
