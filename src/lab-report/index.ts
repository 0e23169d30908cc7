export { galleryPage } from './page.ts';
export type { GalleryEntry } from './page-recipe.ts';
export {
  actionText,
  countText,
  type Language,
  replyText,
  shortCommand,
  statusText,
  stepsText,
  ttlText,
  worldText,
} from './words.ts';
