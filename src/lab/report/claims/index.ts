import { ARTICLE } from './article.ts';
import type { Claim, Row } from './claim.ts';
import { IMPLIED } from './implied.ts';
import { INTERVIEW } from './interview.ts';
import { MANUAL } from './manual.ts';
import { NOTES } from './notes.ts';
import { REFERENCE } from './reference.ts';

/** Every claim of the documents, by number. */
export const CLAIMS: readonly Claim[] = [
  ...claimsOf('notes', NOTES),
  ...claimsOf('interview', INTERVIEW),
  ...claimsOf('reference', REFERENCE),
  ...claimsOf('article', ARTICLE),
  ...claimsOf('manual', MANUAL),
  ...claimsOf('implied', IMPLIED),
];

function claimsOf(document: Claim['document'], rows: readonly Row[]): Claim[] {
  return rows.map((row) => ({ document, ...row }));
}
