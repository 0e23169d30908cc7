import type { CheckName, DocumentName, Source, Text } from '../../src/lab/index.ts';

/** What the page knows about the gallery: see catalog.js. */
export interface Catalog {
  readonly checks: readonly { readonly name: CheckName; readonly about: Text }[];
  readonly documents: Readonly<
    Record<DocumentName, { readonly title: string; readonly about: Text }>
  >;
  readonly recipes: readonly CatalogRecipe[];
}

export interface CatalogRecipe {
  readonly name: string;
  readonly about: Text;
  readonly source: Source;
  /** Its pseudo-code can be run and edited. */
  readonly isRunnable: boolean;
  readonly scripts: readonly (readonly [title: string, text: string])[];
  readonly programs: readonly {
    readonly id: string;
    readonly title: string;
    readonly code: string;
  }[];
  readonly variants: readonly CatalogVariant[];
}

export interface CatalogVariant {
  readonly name: string;
  readonly about: Text;
  readonly unpromised: readonly CheckName[];
  readonly code: string;
  /** The code with its scripts, for the editor. */
  readonly text: string;
  readonly finding: Finding;
}

/** The run that is shown first, and the result of the search at build time. */
export interface Finding {
  /** The check that fails; null if none does. */
  readonly check: CheckName | null;
  readonly schedule: string;
  readonly keepsPromises: boolean;
  readonly isComplete: boolean;
  readonly states: number;
  readonly interleavings: string;
}
