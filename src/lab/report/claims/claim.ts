import type { CheckName, DocumentName, Text, WorldOptions } from '../../index.ts';

/** A statement of one of the documents, paraphrased, and the verdict on it. */
export interface Claim {
  /** 1 to 107, in the order of the documents. */
  readonly number: number;
  /** `implied`: no document says it, but a recipe of one depends on it. */
  readonly document: DocumentName | 'implied';
  /** The part of the document that makes the claim. */
  readonly place: Text;
  readonly claim: Text;
  readonly verdict: ClaimVerdict;
  /** The reason for the verdict. For a conditional claim, the condition. */
  readonly reason: Text;
  /** What to do instead, or how to do it with this library; null if there is nothing to add. */
  readonly rightForm: Text | null;
  readonly evidence: readonly Evidence[];
}

export type ClaimVerdict = 'right' | 'conditional' | 'wrong';

/** Evidence that a reader can reproduce. test/claims.test.ts reproduces all of it. */
export type Evidence = DialogueEvidence | ReplayEvidence | SearchEvidence | Figure | TestEvidence;

/** Commands and their replies as redis-cli prints them. The engine and redis-server give the same replies. */
export interface DialogueEvidence {
  readonly kind: 'dialogue';
  readonly lines: readonly DialogueLine[];
}

export type DialogueLine = readonly [command: string, reply: string];

/** One run of a recipe, and the check that fails at its last step; null if none fails. */
export interface ReplayEvidence {
  readonly kind: 'replay';
  readonly recipe: string;
  readonly variant: string;
  readonly schedule: string;
  readonly fails: CheckName | null;
  /** Differences from the variant's world. */
  readonly world: Partial<WorldOptions>;
}

/** All interleavings of a recipe, and the checks that fail in some of them. */
export interface SearchEvidence {
  readonly kind: 'search';
  readonly recipe: string;
  readonly variant: string;
  readonly fails: readonly CheckName[];
  readonly world: Partial<WorldOptions>;
}

/** A number, and the file that computes it: a test that compares it with the text, or a benchmark. */
export interface Figure {
  readonly kind: 'figure';
  readonly text: Text;
  readonly from: string;
}

export interface TestEvidence {
  readonly kind: 'test';
  readonly file: string;
  readonly title: string;
}

/** A claim as written in the file of its document. */
export type Row = Omit<Claim, 'document'>;

export function text(en: string, zh: string): Text {
  return { en, zh };
}

export function dialogue(...lines: readonly DialogueLine[]): DialogueEvidence {
  return { kind: 'dialogue', lines };
}

export function replayed(
  recipe: string,
  variant: string,
  schedule: string,
  fails: CheckName | null,
  world: Partial<WorldOptions> = {},
): ReplayEvidence {
  return { kind: 'replay', recipe, variant, schedule, fails, world };
}

export function searched(
  recipe: string,
  variant: string,
  fails: readonly CheckName[] = [],
  world: Partial<WorldOptions> = {},
): SearchEvidence {
  return { kind: 'search', recipe, variant, fails, world };
}

export function figure(en: string, zh: string): Figure {
  return { kind: 'figure', text: { en, zh }, from: 'test/claim-figures.test.ts' };
}

/** A figure of a benchmark, which docs/benchmarks.md repeats. */
export function measured(from: string, en: string, zh: string): Figure {
  return { kind: 'figure', text: { en, zh }, from };
}

export function tested(file: string, title: string): TestEvidence {
  return { kind: 'test', file, title };
}
