import type { DialogueLine } from './parse-tutorial.ts';

/** The tutorial with its prose as HTML: see catalog.ts. */
export interface RenderedTutorial {
  readonly title: string;
  readonly lead: string;
  readonly steps: readonly {
    readonly title: string;
    readonly parts: readonly (
      | { readonly kind: 'prose'; readonly html: string }
      | { readonly kind: 'dialogue'; readonly lines: readonly DialogueLine[] }
    )[];
  }[];
}
