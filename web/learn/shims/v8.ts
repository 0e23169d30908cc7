/** INFO shows these figures, which a page cannot know. */
export function getHeapStatistics(): {
  readonly heap_size_limit: number;
  readonly total_heap_size: number;
} {
  return { heap_size_limit: 512 * 1024 ** 2, total_heap_size: 0 };
}
