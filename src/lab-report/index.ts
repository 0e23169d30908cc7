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
