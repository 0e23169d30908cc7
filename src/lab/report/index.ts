export type { Claim, ClaimVerdict, Evidence } from './claims/claim.ts';
export { CLAIMS } from './claims/index.ts';
export { QUESTIONS, type Question } from './claims/questions.ts';
export {
  CLAIM_REFERENCE,
  CLAIMS_LEAD,
  CLAIMS_TITLE,
  COLUMNS,
  commandOf,
  documentText,
  findingOf,
  QUESTIONS_TITLE,
  VERDICTS,
} from './claims/words.ts';
export { type KeyChanges, keyChanges } from './key-changes.ts';
export { galleryPage } from './page.ts';
export type { GalleryEntry } from './page-recipe.ts';
export {
  happeningText,
  momentText,
  STAMPEDE_COLUMNS,
  stampedeText,
} from './stampede-words.ts';
export {
  actionText,
  chanceText,
  countText,
  GONE,
  type Language,
  lifeText,
  replyText,
  shortCommand,
  statusText,
  stepsText,
  ttlText,
  UNPROMISED,
  worldText,
} from './words.ts';
